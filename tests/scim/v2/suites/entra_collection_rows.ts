// Microsoft's reference collection of requests and its checks.
// https://github.com/AzureAD/SCIMReferenceCode (PostmanCollection.json), linked at https://aka.ms/ProvisioningPostman.
//
// Different on purpose: /serviceConfiguration is not the endpoint of RFC 7644 §4, so the row uses /ServiceProviderConfig. The
// sample server of Microsoft answers each PATCH with 204; RFC 7644 §3.5.2 also allows 200 with the resource.

import { COLLECTION, deleted, postUser } from "./entra_collection_steps.ts";
import { GARBAGE_ROWS } from "./entra_garbage_rows.ts";
import { ABSENT, contains, type SuiteRow } from "./suite_row.ts";
import { ENTERPRISE, get, GROUP, patch, sent, USER } from "./suite_steps.ts";

type Attributes = Readonly<Record<string, unknown>>;

const bob = (userName: string, more: Attributes = {}): Attributes => ({
  userName,
  active: true,
  displayName: "BobIsAmazing",
  schemas: [ENTERPRISE, USER],
  externalId: `{guid}-${userName}`,
  name: { formatted: "Ryan Leenay", familyName: "Leenay", givenName: "Ryan" },
  emails: [
    { Primary: true, type: "work", value: "testing@bob.com" },
    { Primary: false, type: "home", value: "testinghome@bob.com" },
  ],
  ...more,
});

const ENDPOINTS: SuiteRow = {
  ref: COLLECTION,
  must: "endpoint tests",
  steps: [
    get("/users", { totalResults: 0 }),
    get("/Users", { totalResults: 0, Resources: ABSENT }),
    get("/Groups", { totalResults: 0 }),
    get("/ResourceTypes", { "Resources/0/endpoint": "/Users" }),
    get("/ServiceProviderConfig", { "patch/supported": true }),
    get("/Schemas", { "Resources/*/id": contains(USER) }),
  ],
};

const USERS: SuiteRow = {
  ref: COLLECTION,
  must: "user tests",
  steps: [
    postUser("id1", bob("UserName123", { schemas: [USER] })),
    postUser(
      "id2",
      bob("UserName222", { [ENTERPRISE]: { Department: "bob", Manager: { Value: "SuzzyQ" } } }),
    ),
    get("/Users/{id1}", { id: "{id1}", "emails/0/primary": true }),
    get("/Users/{id2}", {
      id: "{id2}",
      [`${ENTERPRISE}/department`]: "bob",
      [`${ENTERPRISE}/manager/value`]: "SuzzyQ",
    }),
    get("/Users?attributes=userName,emails", { "Resources/*/id": contains("{id1}") }),
    get("/Users/?filter=DisplayName+eq+%22BobIsAmazing%22", { "Resources/*/id": contains("{id1}") }),
    patch("/Users/{id1}", [{ op: "replace", path: "userName", value: "ryan3" }]),
    get("/Users/{id1}", { id: "{id1}", userName: "ryan3" }),
    sent(
      "PUT /Users/{id2}",
      bob("UserNameReplace2", {
        id: "{id2}",
        name: { formatted: "NewName", familyName: "Leenay", givenName: "Ryan" },
      }),
      200,
    ),
    get("/Users/{id2}", { "name/formatted": "NewName", userName: "UserNameReplace2" }),
    ...deleted("/Users/{id1}", "/Users/{id2}"),
  ],
};

const addMember = patch("/Groups/{g1}", [
  { name: "addMember", op: "add", path: "members", value: [{ displayName: "new User", value: "{id4}" }] },
]);

const GROUPS: SuiteRow = {
  ref: COLLECTION,
  must: "group tests",
  steps: [
    {
      send: "POST /Groups",
      body: { externalId: "{guid}", schemas: [GROUP], displayName: "Group1DisplayName", members: [] },
      status: 201,
      save: { g1: "id" },
    },
    postUser("id3", bob("UserName333")),
    postUser("id4", bob("UserName444")),
    {
      send: "POST /Groups",
      body: {
        schemas: [GROUP],
        displayName: "GroupDisplayName2",
        members: [{ value: "{id3}", display: "VP" }],
      },
      status: 201,
      save: { g2: "id" },
    },
    get("/Groups", { totalResults: 2 }),
    {
      send: "POST /Groups",
      body: { schemas: [GROUP], displayName: "GroupDisplayName3", members: [] },
      status: 201,
      save: { g3: "id" },
    },
    sent("PUT /Groups/{g3}", {
      schemas: [GROUP],
      id: "{g3}",
      displayName: "putName",
      members: [{ value: "{id3}", display: "VP" }, { value: "{id4}", display: "SenorVP" }],
    }, 200),
    get("/Groups/{g3}", { id: "{g3}", displayName: "putName", "members/*/value": contains("{id3}") }),
    addMember,
    get("/Groups/{g1}", { "members/*/value": ["{id4}"] }),
    patch("/Groups/{g1}", [{ op: "remove", path: 'members[value eq "{id4}"]' }]),
    get("/Groups/{g1}", { members: ABSENT }),
    addMember,
    // The collection looks for its "new User"; the display name of a member is readOnly, so the member itself is compared.
    get("/Groups/{g1}", { id: "{g1}", "members/*/value": contains("{id4}") }),
    patch("/Groups/{g1}", [{ op: "remove", path: "members" }]),
    get("/Groups/{g1}", { members: ABSENT }),
    ...deleted("/Users/{id3}", "/Users/{id4}", "/Groups/{g1}", "/Groups/{g2}", "/Groups/{g3}"),
  ],
};

const COMPLEX: SuiteRow = {
  ref: COLLECTION,
  must: "complex attribute tests: attributes with a filter",
  steps: [
    postUser("id1", bob("UserName111", { emails: [{ Primary: true, type: "work", value: "emailName357" }] })),
    postUser("id2", bob("UserName222")),
    get("/Users", {
      "Resources/*/emails": contains([{ primary: true, type: "work", value: "emailName357" }]),
    }, {
      query: { attributes: 'emails[type eq "work"]' },
    }),
    get("/Users", {
      "Resources/*/emails": contains([{ primary: true, type: "work", value: "emailName357" }]),
    }, {
      query: { attributes: 'emails[value eq "emailName357"]' },
    }),
    ...deleted("/Users/{id1}", "/Users/{id2}"),
  ],
};

/** In this order, on a target without users and groups: some tests count them. */
export const COLLECTION_ROWS: readonly SuiteRow[] = [
  ENDPOINTS,
  USERS,
  GROUPS,
  COMPLEX,
  ...GARBAGE_ROWS,
];
