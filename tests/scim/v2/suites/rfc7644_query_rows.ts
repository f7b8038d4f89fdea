// RFC 7644 §3.4.2 and §3.4.3: lists, sorting, pages and searches.

import { FIVE_USERS, listFive, namesOf, searchFive } from "./five_users.ts";
import { ABSENT, atMost, contains, NUMBER, ordered, size, type SuiteRow, TEXT } from "./suite_row.ts";
import { get, group, LIST_RESPONSE, SEARCH_REQUEST, sent, user } from "./suite_steps.ts";

const LIST_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §3.4.2",
    must: "A list is a ListResponse with numbers",
    steps: [
      ...FIVE_USERS,
      listFive({ count: "2" }, {
        schemas: [LIST_RESPONSE],
        totalResults: 5,
        itemsPerPage: 2,
        startIndex: 1,
        Resources: size(2),
      }),
      get("/Groups?count=1", { schemas: [LIST_RESPONSE], totalResults: NUMBER }),
    ],
  },
  {
    ref: "RFC 7644 §3.4.2",
    must: "A list without a match is 200 with totalResults 0, never 404",
    steps: [
      get("/Users", { totalResults: 0, Resources: ABSENT }, { query: { filter: 'userName eq "{guid}"' } }),
      get("/Groups", { totalResults: 0, Resources: ABSENT }, {
        query: { filter: 'displayName eq "{guid}"' },
      }),
      get("/Users", { totalResults: 0 }, { query: { filter: 'id eq "{guid}"' } }),
    ],
  },
  {
    ref: "RFC 7644 §3.4.2.1",
    must: "A list of the root has all types of resources",
    steps: [
      user("ada"),
      group("staff", ["ada"]),
      get("/", {
        schemas: [LIST_RESPONSE],
        "Resources/*/meta/resourceType": contains("User"),
        totalResults: 1,
      }, {
        query: { filter: 'id eq "{ada}"' },
      }),
      get("/", { "Resources/*/id": ["{staff}"] }, { query: { filter: 'displayName eq "{row}-staff"' } }),
    ],
  },
  {
    ref: "RFC 7644 §3.4.2.1",
    must: "In a list of the root, an attribute that a type does not have has no value",
    steps: [
      user("ada"),
      group("staff"),
      get("/", { totalResults: 2 }, { query: { filter: 'id eq "{staff}" or userName eq "{row}-ada"' } }),
    ],
  },
  {
    ref: "RFC 7644 §3.4.2.1",
    must: "A list that would have too many results is 400 with tooMany, or is a page",
    steps: [get("/Users?count=1000000", {}, { status: 200, json: { Resources: atMost(1000) } })],
  },
];

const SORT_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §3.4.2.3",
    must: "sortBy sorts in ascending order without regard to case, and those without a value are last",
    steps: [
      ...FIVE_USERS,
      listFive({ sortBy: "title" }, { "Resources/*/userName": namesOf("dan", "cid", "ben", "ann", "eva") }),
      listFive({ sortBy: "userName" }, {
        "Resources/*/userName": namesOf("ann", "ben", "cid", "dan", "eva"),
      }),
      listFive({ sortBy: "name.familyName" }, {
        "Resources/0/userName": "{row}-ben",
        "Resources/1/userName": "{row}-ann",
      }),
      listFive({ sortBy: "meta.created" }, { "Resources/*/meta/created": ordered((a, b) => a < b ? -1 : 1) }),
    ],
  },
  {
    ref: "RFC 7644 §3.4.2.3",
    must: "sortOrder=descending reverses the order, and those without a value are first",
    steps: [
      ...FIVE_USERS,
      listFive({ sortBy: "title", sortOrder: "descending" }, {
        "Resources/*/userName": namesOf("eva", "ann", "ben", "cid", "dan"),
      }),
      listFive({ sortBy: "userName", sortOrder: "descending" }, {
        "Resources/*/userName": namesOf("eva", "dan", "cid", "ben", "ann"),
      }),
    ],
  },
  {
    ref: "RFC 7644 §3.4.2.3",
    must: "A multi-valued attribute sorts by its primary value, else by the first one",
    steps: [
      ...FIVE_USERS,
      listFive({ sortBy: "emails.value" }, {
        "Resources/0/userName": "{row}-cid",
        "Resources/1/userName": "{row}-ann",
      }),
    ],
  },
  {
    ref: "RFC 7644 §3.4.2.3",
    must: "Pages of a sorted list continue the order",
    steps: [
      ...FIVE_USERS,
      listFive({ sortBy: "title", startIndex: "1", count: "2" }, {
        "Resources/*/userName": namesOf("dan", "cid"),
      }),
      listFive({ sortBy: "title", startIndex: "3", count: "2" }, {
        "Resources/*/userName": namesOf("ben", "ann"),
      }),
      listFive({ sortBy: "title", startIndex: "5", count: "2" }, { "Resources/*/userName": namesOf("eva") }),
    ],
  },
];

const PAGE_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §3.4.2.4",
    must: "startIndex counts from 1, and a smaller one is 1",
    steps: [
      ...FIVE_USERS,
      ...["0", "-7", "1"].map((startIndex) =>
        listFive({ startIndex, count: "2" }, { startIndex: 1, "Resources/*/userName": namesOf("ann", "ben") })
      ),
      listFive({ startIndex: "4", count: "2" }, {
        startIndex: 4,
        "Resources/*/userName": namesOf("dan", "eva"),
      }),
    ],
  },
  {
    ref: "RFC 7644 §3.4.2.4",
    must: "A page has at most count resources",
    steps: [
      ...FIVE_USERS,
      listFive({ count: "3" }, { Resources: size(3), totalResults: 5, itemsPerPage: 3 }),
    ],
  },
  {
    ref: "RFC 7644 §3.4.2.4",
    must: "A count of 0, or less, returns only totalResults",
    steps: [
      ...FIVE_USERS,
      ...["0", "-1"].map((count) => listFive({ count }, { totalResults: 5, Resources: ABSENT })),
    ],
  },
  {
    ref: "RFC 7644 §3.4.2.4",
    must: "A page after the end is empty",
    steps: [
      ...FIVE_USERS,
      listFive({ startIndex: "6" }, { totalResults: 5, Resources: ABSENT }),
      listFive({ startIndex: "9007199254740991", count: "10" }, { totalResults: 5, Resources: ABSENT }),
    ],
  },
  {
    ref: "RFC 7644 §3.4.2.4",
    must: "A count or startIndex that is no number is refused",
    steps: ["x", "1.5", "1e3"].flatMap((value) =>
      ["count", "startIndex"].map((name) => ({
        send: "GET /Users",
        query: { [name]: value },
        status: 400,
        scimType: "invalidValue",
      }))
    ),
  },
];

const SEARCH_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7644 §3.4.3",
    must: "POST to /.search is a query with filter, pages, sorting and projection in the body",
    steps: [
      ...FIVE_USERS,
      searchFive(
        { startIndex: 2, count: 2, sortBy: "userName", sortOrder: "descending", attributes: ["userName"] },
        {
          schemas: [LIST_RESPONSE],
          totalResults: 5,
          startIndex: 2,
          itemsPerPage: 2,
          "Resources/*/userName": namesOf("dan", "cid"),
          "Resources/0/meta": ABSENT,
          "Resources/0/id": TEXT,
        },
      ),
      searchFive({ excludedAttributes: ["title"], count: 1 }, {
        "Resources/0/title": ABSENT,
        "Resources/0/userName": TEXT,
      }),
    ],
  },
  {
    ref: "RFC 7644 §3.4.3",
    must: "/.search works at the root and for groups, with whole resources",
    steps: [
      group("staff"),
      searchFive({ filter: 'displayName eq "{row}-staff"' }, { "Resources/*/id": ["{staff}"] }, "/Groups"),
      searchFive({ filter: 'displayName eq "{row}-staff"' }, {
        "Resources/0/displayName": "{row}-staff",
        "Resources/0/meta/resourceType": "Group",
      }, ""),
    ],
  },
  {
    ref: "RFC 7644 §3.4.3",
    must: "A SearchRequest names its schema and has a valid filter",
    steps: [
      sent("POST /Users/.search", { schemas: ["urn:x"], filter: "title pr" }, 400, "invalidSyntax"),
      sent("POST /Users/.search", { schemas: [SEARCH_REQUEST], filter: "title" }, 400, "invalidFilter"),
    ],
  },
];

export const QUERY_ROWS: readonly SuiteRow[] = [
  ...LIST_ROWS,
  ...SORT_ROWS,
  ...PAGE_ROWS,
  ...SEARCH_ROWS,
];
