// The operations of the load generator, as rows: the request for a server, and the content of a correct answer.

import { firstOutsider, GROUP, groupMembers, type Person, personAt, userBody } from "./people.ts";

/** The SCIM interface of a server. */
export interface Dialect {
  /** The address above `/Users`, without a trailing slash. */
  readonly base: string;
  /** The Authorization header; empty for a server that needs none. */
  readonly authorization: string;
  /** Its paging: `page` of the specification, or `startIndex` of RFC 7644. */
  readonly paging: "page" | "startIndex";
  /** The query parameter of a filter. */
  readonly filter: "q" | "filter";
  /** For a server that addresses resources by id. Absent: by name. */
  readonly ids?: KnownIds;
}

/** Ids that the server gave: of people drawn at random, of people outside of the group, and of the group. */
export interface KnownIds {
  readonly people: readonly KnownPerson[];
  readonly outsiders: readonly string[];
  readonly group: string;
}

export interface KnownPerson {
  /** As for `personAt()`. */
  readonly index: number;
  readonly id: string;
}

export interface OperationOptions {
  readonly dialect: Dialect;
  readonly users: number;
  /** Counts the requests of this run. */
  readonly turn: number;
  /** Number of the first person to create: no run creates a person twice. */
  readonly firstNew: number;
  /** A random number, from 0 up to but without `below`. */
  draw(below: number): number;
}

export interface Ask {
  readonly method: "GET" | "POST" | "PUT" | "PATCH";
  readonly path: string;
  readonly body?: string;
}

interface OperationRow {
  readonly ask: (options: OperationOptions) => Ask;
  readonly status: number;
  /**
   * Whether a body is a correct answer. Only the first answer of each connection is checked, because the check takes
   * time.
   */
  readonly holds: (body: Body, users: number) => boolean;
}

/** The fields of an answer that the rows read. */
interface Body {
  readonly userName?: string;
  readonly totalResults?: number;
  readonly Resources?: readonly unknown[];
  readonly members?: readonly unknown[];
}

export const PAGE_SIZE = 100;
/** A first letter of an eighth of the given and family names. */
const LETTER = "m";

/** A random person, and the path of the person. */
function drawPerson({ dialect: { ids }, users, draw }: OperationOptions): { person: Person; path: string } {
  const known = ids === undefined ? undefined : ids.people[draw(ids.people.length)];
  const person = personAt(known?.index ?? draw(users));
  return { person, path: `/Users/${encodeURIComponent(known?.id ?? person.userName)}` };
}

const PATCH_MESSAGE = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

function patchBody(operation: { op: string; path: string; value?: unknown }): string {
  return JSON.stringify({ schemas: [PATCH_MESSAGE], Operations: [operation] });
}

const search = (dialect: Dialect, text: string): Ask => ({
  method: "GET",
  path: `/Users?${dialect.filter}=${encodeURIComponent(text)}`,
});
const isOne = ({ totalResults, Resources }: Body) => totalResults === 1 && Resources?.length === 1;

export const OPERATIONS = {
  page: {
    ask: ({ dialect, users, draw }) => {
      const page = draw(Math.max(1, Math.floor(users / PAGE_SIZE)));
      const place = dialect.paging === "page"
        ? `page=${page + 1}`
        : `startIndex=${page * PAGE_SIZE + 1}&count=${PAGE_SIZE}`;
      return { method: "GET", path: `/Users?${place}` };
    },
    status: 200,
    holds: ({ Resources }, users) => Resources?.length === Math.min(PAGE_SIZE, users),
  },
  get: {
    ask: (options) => ({ method: "GET", path: drawPerson(options).path }),
    status: 200,
    holds: ({ userName }) => userName !== undefined,
  },
  equal: {
    ask: ({ dialect, users, draw }) =>
      search(dialect, `userName eq ${JSON.stringify(personAt(draw(users)).userName)}`),
    status: 200,
    holds: isOne,
  },
  rareWord: {
    ask: ({ dialect, users, draw }) => search(dialect, personAt(draw(users)).number),
    status: 200,
    holds: isOne,
  },
  letter: {
    ask: ({ dialect }) => search(dialect, LETTER),
    status: 200,
    holds: ({ totalResults = 0, Resources }) => Resources?.length === Math.min(PAGE_SIZE, totalResults),
  },
  twoWords: {
    ask: ({ dialect, users, draw }) => {
      const { givenName, number } = personAt(draw(users));
      return search(dialect, `${givenName} ${number}`);
    },
    status: 200,
    holds: isOne,
  },
  fullName: {
    ask: ({ dialect, users, draw }) => {
      const { givenName, familyName } = personAt(draw(users));
      return search(dialect, `${givenName} ${familyName}`);
    },
    status: 200,
    holds: ({ totalResults = 0 }) => totalResults >= 1,
  },
  create: {
    ask: ({ firstNew, turn }) => ({
      method: "POST",
      path: "/Users",
      body: userBody(personAt(firstNew + turn)),
    }),
    status: 201,
    holds: ({ userName }) => userName !== undefined,
  },
  replace: {
    ask: (options) => {
      const { person, path } = drawPerson(options);
      return { method: "PUT", path, body: userBody(person, { edition: 1 + options.draw(1_000_000) }) };
    },
    status: 200,
    holds: ({ userName }) => userName !== undefined,
  },
  member: {
    // A member is added and removed again: the group does not grow, and every second answer is of the measured change.
    ask: ({ users, turn, draw }) => {
      const outsider = personAt(firstOutsider(users) + draw(Math.max(1, users - firstOutsider(users))));
      return {
        method: "PUT",
        path: `/Groups/${GROUP}`,
        body: groupBody(users, { more: turn % 2 === 0 ? outsider.userName : null }),
      };
    },
    status: 200,
    holds: ({ members = [] }, users) => members.length >= groupMembers(users).length,
  },
  patchUser: {
    ask: (options) => {
      const value = `Engineer ${1 + options.draw(1_000_000)}`;
      return {
        method: "PATCH",
        path: drawPerson(options).path,
        body: patchBody({ op: "replace", path: "title", value }),
      };
    },
    status: 200,
    holds: ({ userName }) => userName !== undefined,
  },
  patchMember: {
    // Added and removed again, as above. `readKnownIds()` checks that both have an effect.
    ask: ({ dialect: { ids }, turn }) => {
      const { outsiders = [], group = "" } = ids ?? {};
      const value = outsiders[(turn >> 1) % outsiders.length] ?? "";
      const operation = turn % 2 === 0
        ? { op: "add", path: "members", value: [{ value }] }
        : { op: "remove", path: `members[value eq ${JSON.stringify(value)}]` };
      return { method: "PATCH", path: `/Groups/${group}`, body: patchBody(operation) };
    },
    status: 204,
    holds: () => true,
  },
} as const satisfies Record<string, OperationRow>;

export type OperationName = keyof typeof OPERATIONS;

/** The text of the members is built once: otherwise its time would count as time of the server. */
let written: { readonly users: number; readonly text: string } | null = null;

function groupBody(users: number, { more }: { more: string | null }): string {
  if (written?.users !== users) {
    written = { users, text: groupMembers(users).map((value) => JSON.stringify({ value })).join(",") };
  }
  const added = more === null ? "" : `,${JSON.stringify({ value: more })}`;
  return `{"displayName":${JSON.stringify(GROUP)},"members":[${written.text}${added}]}`;
}

/** The fault of an answer, or `null`. */
export function answerFault(
  operation: OperationName,
  { status, text, users }: { status: number; text: string; users: number },
): string | null {
  const row: OperationRow = OPERATIONS[operation];
  if (status !== row.status) return `${status} instead of ${row.status}: ${text.slice(0, 300)}`;
  if (status === 204) return text === "" ? null : "a body with 204";
  try {
    if (row.holds(JSON.parse(text), users)) return null;
  } catch (fault) {
    return `no JSON: ${fault instanceof Error ? fault.message : String(fault)}`;
  }
  return `an answer that does not hold what was asked for: ${text.slice(0, 300)}`;
}
