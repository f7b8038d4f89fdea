// RFC 9865: pages by cursor.

import { FIVE_USERS, listFive, namesOf, searchFive } from "./five_users.ts";
import { ABSENT, atLeast, type SuiteRow } from "./suite_row.ts";

export const CURSOR_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 9865 §2",
    must: "An empty cursor begins, nextCursor continues, and the last page has no nextCursor",
    steps: [
      ...FIVE_USERS,
      {
        ...listFive({ cursor: "", count: "2" }, {
          totalResults: 5,
          "Resources/*/userName": namesOf("ann", "ben"),
        }),
        save: { next: "nextCursor" },
      },
      {
        ...listFive({ cursor: "{next}", count: "2" }, { "Resources/*/userName": namesOf("cid", "dan") }),
        save: { next: "nextCursor" },
      },
      listFive({ cursor: "{next}", count: "2" }, {
        "Resources/*/userName": namesOf("eva"),
        nextCursor: ABSENT,
      }),
    ],
  },
  {
    ref: "RFC 9865 §2",
    must: "A cursor that the server did not issue is 400 with invalidCursor",
    steps: ["x", "eyJhIjoxfQ", "-1"].map((cursor) => ({
      send: "GET /Users",
      query: { cursor },
      status: 400,
      scimType: "invalidCursor",
    })),
  },
  {
    ref: "RFC 9865 §2",
    must: "Cursors work in /.search, and survive a change between two pages",
    steps: [
      ...FIVE_USERS,
      {
        ...searchFive({ cursor: "", count: 2, sortBy: "userName" }, {
          "Resources/*/userName": namesOf("ann", "ben"),
        }),
        save: { next: "nextCursor" },
      },
      { send: "DELETE /Users/{ann}", status: 204 },
      searchFive({ cursor: "{next}", count: 2, sortBy: "userName" }, {
        "Resources/*/userName": namesOf("cid", "dan"),
      }),
    ],
  },
  {
    ref: "RFC 9865 §2",
    must: "A list without a cursor has no cursors, but indexes",
    steps: [...FIVE_USERS, listFive({ count: "2" }, { startIndex: 1, totalResults: atLeast(5) })],
  },
];
