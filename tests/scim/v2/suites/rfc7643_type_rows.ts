// RFC 7643 §2: attributes and their types.

import { ABSENT, DATE_TIME, lacks, not, type SuiteRow } from "./suite_row.ts";
import { get, group, sent, USER, user } from "./suite_steps.ts";

/** §2: attributes and their types. */
export const TYPE_ROWS: readonly SuiteRow[] = [
  {
    ref: "RFC 7643 §2.1",
    must: "Attribute names and schema URIs are case-insensitive",
    steps: [
      sent(
        "POST /Users",
        { SCHEMAS: [USER.toUpperCase()], USERNAME: "{row}-ada", Name: { FAMILYNAME: "Byron" } },
        201,
        { userName: "{row}-ada", "name/familyName": "Byron" },
      ),
    ],
  },
  {
    ref: "RFC 7643 §2.3",
    must: "A value of another JSON type is refused",
    steps: [
      ["displayName", { a: 1 }],
      ["name", "Ada"],
      ["emails", [["a@example.com"]]],
      ["title", ["x", "y"]],
    ].map((
      [name, value],
    ) =>
      sent(
        "POST /Users",
        { schemas: [USER], userName: "{row}-ada", [String(name)]: value },
        400,
        "invalidValue",
      )
    ),
  },
  {
    ref: "RFC 7643 §2.3.1",
    must: "A string has any Unicode characters, and is stored as it was sent",
    steps: [
      user("ada", { displayName: 'Ãđä "ß" \\ 😀 日本', title: " two  spaces " }),
      get("/Users/{ada}", { displayName: 'Ãđä "ß" \\ 😀 日本', title: " two  spaces " }),
    ],
  },
  {
    ref: "RFC 7643 §2.3.2",
    must: "A boolean is true or false, never a text",
    steps: [user("ada", { active: true }), get("/Users/{ada}", { active: true })],
  },
  {
    ref: "RFC 7643 §2.3.5",
    must: "A date has a date and a time, in the form of xsd:dateTime",
    steps: [user("ada"), get("/Users/{ada}", { "meta/created": DATE_TIME, "meta/lastModified": DATE_TIME })],
  },
  {
    ref: "RFC 7643 §2.3.6",
    must: "A binary value is base64 with padding, and any other text is refused",
    steps: [
      user("ada", { x509Certificates: [{ value: "MIIBIjANBgkqhkiG9w0BAQ==" }] }),
      get("/Users/{ada}", { "x509Certificates/0/value": "MIIBIjANBgkqhkiG9w0BAQ==" }),
      sent(
        "POST /Users",
        { schemas: [USER], userName: "{row}-bob", x509Certificates: [{ value: "*** no base64 ***" }] },
        400,
        "invalidValue",
      ),
    ],
  },
  {
    ref: "RFC 7643 §2.3.7",
    must: "A GET of a reference returns the resource",
    steps: [
      user("ada"),
      { ...group("staff", ["ada"]), save: { staff: "id", place: "meta/location" } },
      get("/Groups/{staff}", {
        "members/0/$ref": "{base}/Users/{ada}",
        "meta/location": "{base}/Groups/{staff}",
      }),
      get("/Users/{ada}", { "groups/0/$ref": "{base}/Groups/{staff}" }),
    ],
  },
  {
    ref: "RFC 7643 §2.3.8",
    must: "The order of attributes does not matter",
    steps: [
      sent(
        "POST /Users",
        '{"name":{"givenName":"Ada","familyName":"B"},"userName":"{row}-ada","schemas":["' + USER +
          '"]}',
        201,
        { "name/givenName": "Ada", userName: "{row}-ada" },
      ),
    ],
  },
  {
    ref: "RFC 7643 §2.4",
    must: "At most one value is primary",
    steps: [
      sent(
        "POST /Users",
        {
          schemas: [USER],
          userName: "{row}-ada",
          emails: [{ value: "a@example.com", primary: true }, { value: "b@example.com", primary: true }],
        },
        [201, 400],
        {
          emails: not([{ value: "a@example.com", primary: true }, { value: "b@example.com", primary: true }]),
        },
      ),
    ],
  },
  {
    ref: "RFC 7643 §2.4",
    must: "A value without primary is not primary",
    steps: [
      user("ada", { emails: [{ value: "a@example.com", type: "work" }] }),
      get("/Users/{ada}", { emails: lacks({ primary: true }) }),
    ],
  },
  {
    ref: "RFC 7643 §2.4",
    must: "The sub-attributes type, primary, display and value keep their values",
    steps: [
      user("ada", { emails: [{ value: "a@example.com", type: "other", display: "private", primary: true }] }),
      get("/Users/{ada}", {
        emails: [{ value: "a@example.com", type: "other", display: "private", primary: true }],
      }),
    ],
  },
  {
    ref: "RFC 7643 §2.5",
    must: "Unassigned, null and an empty list are the same state",
    steps: [
      user("ada", { nickName: null, emails: [], title: "Dr." }),
      get("/Users/{ada}", { nickName: ABSENT, emails: ABSENT, title: "Dr." }),
      sent("PUT /Users/{ada}", { schemas: [USER], userName: "{row}-ada", title: null }, 200, {
        title: ABSENT,
      }),
      get("/Users", { totalResults: 0 }, { query: { filter: 'title pr and userName eq "{row}-ada"' } }),
    ],
  },
];
