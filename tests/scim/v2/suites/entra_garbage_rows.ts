// The tests "with garbage" of Microsoft's reference collection; see entra_collection_rows.ts.

import { COLLECTION, deleted, postUser } from "./entra_collection_steps.ts";
import { ABSENT, contains, lacks, PRESENT, type Step, type SuiteRow, TEXT } from "./suite_row.ts";
import { ENTERPRISE, get, GROUP, patch, PATCH_OP, sent, USER } from "./suite_steps.ts";

type Attributes = Readonly<Record<string, unknown>>;

/** The user of the tests "with garbage", with null values and a family name. */
const garbage = (userName: string, familyName: string, more: Attributes = {}): Attributes => ({
  ...{
    userName,
    active: true,
    displayName: "Kimberly Baker",
    title: "Site engineer",
    preferredLanguage: "xh",
  },
  addresses: [
    {
      ...{
        country: "Bermuda",
        formatted: "9132 Jennifer Way Suite 040\nSouth Nancy, MI 55645",
        type: "work",
      },
      ...{ locality: "West Mercedes", postalCode: "99265", region: "Montana", primary: false },
    },
    {
      ...{
        country: null,
        formatted: "18522 Lisa Unions\nEast Gregory, CT 52311",
        locality: null,
        type: "other",
      },
      ...{ postalCode: null, region: null, streetAddress: null, primary: false },
    },
  ],
  emails: [
    { type: "work", primary: true, value: "anna33@gmail.com" },
    { type: "work", primary: false, value: "anna33@example.com" },
  ],
  meta: {
    ...{ created: "2019-09-18T18:15:26.5788954+00:00", lastModified: "2019-09-18T18:15:26.5788976+00:00" },
    resourceType: "User",
  },
  name: {
    formatted: "Daniel Mcgee",
    familyName,
    givenName: "Darl",
    honorificPrefix: null,
    honorificSuffix: null,
  },
  phoneNumbers: [
    { type: "fax", primary: false, value: "312-320-0500" },
    { type: "mobile", primary: false, value: "312-320-1707" },
    { type: "work", primary: true, value: "312-320-0932" },
  ],
  roles: [],
  externalId: `22fbc523-6032-4c5f-939d-${userName}`,
  schemas: [USER],
  ...more,
});

const GARBAGE: SuiteRow = {
  ref: COLLECTION,
  must: "user tests with garbage",
  steps: [
    postUser("u1", garbage("OMalley", "OMalley"), { json: { userName: "OMalley", active: true } }),
    postUser("u2", garbage("emp1", "Employee", { active: "True" }), { json: { active: true } }),
    get("/Users", { totalResults: 2, "Resources/*/userName": contains("OMalley") }),
    postUser("u3", garbage("emp2", "Employee")),
    postUser("u4", garbage("emp3", "Employee")),
    sent("POST /Users", { ...garbage("x", "y"), userName: undefined }, 400),
    sent("POST /Users", '{ "acve": tre, "adadfdresses": [ { "coudftry": "Beruda" } ] }', 400),
    sent("POST /Users", garbage("emp3", "Employee"), 409, { detail: TEXT }),
    sent("PUT /Users/{u1}", { ...garbage("x", "y"), userName: undefined, userame: "OMalley" }, 400),
    sent(
      "PUT /Users/{u1}",
      {
        ...garbage("OMalley", "OMalley", { active: false }),
        addresses: undefined,
        adreses: [{ country: "Germany" }],
      },
      200,
      { addresses: ABSENT },
    ),
    postUser(
      "u5",
      garbage("enterprise", "Employee", {
        schemas: [USER, ENTERPRISE],
        [ENTERPRISE]: { Department: "some department" },
      }),
    ),
    patch("/Users/{u1}", [{ op: "Replace", path: "userName", value: "newusername" }]),
    patch("/Users/{u1}", [{ op: "Replace", path: "active", value: false }]),
    get("/Users/{u1}", { userName: "newusername", active: false }),
    sent(
      "PUT /Users/{u1}",
      garbage("OMalley", "OMalley", {
        active: false,
        addresses: [{ country: "Germany", type: "work" }],
      }),
      200,
      { userName: "OMalley", active: false, "addresses/0/country": "Germany" },
    ),
    get("/Users?startIndex=1&count=2", { totalResults: 5, itemsPerPage: 2 }),
    get("/Users?attributes=userName,emails", { totalResults: 5 }),
    // Values without quotes, as the collection sends them.
    get("/Users", { totalResults: 4 }, {
      query: {
        filter:
          "name.FamilyName eq Employee and (emails.Value co example.com or emails.Value co example.org)",
      },
    }),
    get("/Users", { totalResults: 1 }, { query: { filter: "userName sw O" } }),
    get("/Users", { totalResults: 5 }, {
      query: { filter: "meta.Created gt 2015-10-10T14:38:21.8617979-07:00" },
    }),
    ...deleted("/Users/{u1}", "/Users/{u2}", "/Users/{u3}", "/Users/{u4}", "/Users/{u5}"),
  ],
};

const GROUP_GARBAGE: SuiteRow = {
  ref: COLLECTION,
  must: "group tests with garbage",
  steps: [
    {
      send: "POST /Groups",
      body: { displayName: "Group 1", externalId: "015489ea-9410-4306-b583-9f002b2446f7", schemas: [GROUP] },
      status: 201,
      save: { g1: "id" },
    },
    // A departure: the collection expects 204. RFC 7643 §4.2 has no member that is not a resource of the server, and an answer of 204
    // would make the provider believe that the member was added.
    ...["string id 1", "string id 2"].map((
      value,
    ): Step =>
      sent(
        "PATCH /Groups/{g1}",
        { id: "{g1}", Operations: [{ op: "add", path: "members", value }], schemas: [PATCH_OP] },
        400,
        { scimType: "invalidValue", detail: TEXT },
      )
    ),
    get("/Groups/{g1}", { displayName: "Group 1" }),
    get("/Groups/{g1}?excludedAttributes=members", { members: ABSENT, id: PRESENT }),
    sent(
      "PUT /Groups/{g1}",
      {
        id: "{g1}",
        displayName: "Tiffany Ortiz",
        externalId: "6c6b54c2-fa81-4234-ad4f-420ec6808049",
        schemas: [GROUP],
      },
      200,
      { displayName: "Tiffany Ortiz" },
    ),
    ...deleted("/Groups/{g1}"),
    get("/Users?attributes=userName", { totalResults: 0, Resources: lacks({ userName: "OMalley" }) }),
    get("/Groups", { totalResults: 0 }),
  ],
};

export const GARBAGE_ROWS: readonly SuiteRow[] = [GARBAGE, GROUP_GARBAGE];
