// What every answer of a SCIM 2.0 server must have, whatever the request: one row for each requirement.

import { type SuiteAnswer, valueAt } from "./suite_row.ts";
import { LIST_RESPONSE, SCIM_ERROR } from "./suite_steps.ts";

interface AnswerRule {
  readonly ref: string;
  readonly must: string;
  readonly holds: (answer: SuiteAnswer) => boolean;
}

const ERROR_MEMBERS = new Set(["schemas", "status", "scimType", "detail"]);
const LIST_MEMBERS = new Set([
  ...["schemas", "totalResults", "itemsPerPage", "startIndex", "Resources"],
  // RFC 9865 §2.
  ...["nextCursor", "previousCursor"],
]);
/** RFC 7644 §3.12, Table 9, and RFC 9865 §2. */
const SCIM_TYPES = new Set([
  ...["invalidFilter", "tooMany", "uniqueness", "mutability", "invalidSyntax", "invalidPath", "noTarget"],
  ...["invalidValue", "invalidVers", "sensitive", "invalidCursor", "expiredCursor", "invalidCount"],
]);

const schemasOf = ({ json }: SuiteAnswer): unknown => valueAt(json, "schemas");
const has = (answer: SuiteAnswer, urn: string): boolean => {
  const schemas = schemasOf(answer);
  return Array.isArray(schemas) && schemas.includes(urn);
};
const isError = ({ status }: SuiteAnswer) => status >= 400;
const isList = (answer: SuiteAnswer) => has(answer, LIST_RESPONSE);
const names = ({ json }: SuiteAnswer) => typeof json === "object" && json !== null ? Object.keys(json) : [];
const hasBody = ({ text, method }: SuiteAnswer) => text !== "" && method !== "HEAD";

export const ANSWER_RULES: readonly AnswerRule[] = [
  {
    ref: "RFC 7644 §3.1",
    must: "A body has the media type application/scim+json",
    holds: (answer) =>
      !hasBody(answer) || /^application\/scim\+json\b/i.test(answer.headers.get("content-type") ?? ""),
  },
  {
    ref: "RFC 7644 §3.12",
    must: "An error has a JSON body with the schema Error and the status as a text",
    holds: (answer) =>
      !isError(answer) || answer.method === "HEAD" ||
      (has(answer, SCIM_ERROR) && valueAt(answer.json, "status") === String(answer.status)),
  },
  {
    ref: "RFC 7644 §3.12",
    must: "An error has no other members than schemas, status, scimType and detail",
    holds: (answer) => !isError(answer) || names(answer).every((name) => ERROR_MEMBERS.has(name)),
  },
  {
    ref: "RFC 7644 §3.12",
    must: "A scimType is one of the registered words",
    holds: (answer) => {
      const type = valueAt(answer.json, "scimType");
      return !isError(answer) || type === undefined || SCIM_TYPES.has(String(type));
    },
  },
  {
    ref: "RFC 7643 §3",
    must: "A body names its schemas, each once",
    holds: (answer) => {
      const schemas = schemasOf(answer);
      return !hasBody(answer) ||
        (Array.isArray(schemas) && schemas.length > 0 && new Set(schemas).size === schemas.length);
    },
  },
  {
    ref: "RFC 7644 §3.4.2",
    must: "A list has a number of results, and Resources if there are any on the page",
    holds: (answer) => {
      if (!isList(answer)) return true;
      const total = valueAt(answer.json, "totalResults");
      const resources = valueAt(answer.json, "Resources");
      return Number.isInteger(total) && (resources === undefined || Array.isArray(resources)) &&
        names(answer).every((name) => LIST_MEMBERS.has(name));
    },
  },
  {
    ref: "RFC 7644 §3.4.2",
    must: "itemsPerPage is the number of resources in the page",
    holds: (answer) => {
      const per = valueAt(answer.json, "itemsPerPage");
      const resources = valueAt(answer.json, "Resources");
      return !isList(answer) || per === undefined ||
        per === (Array.isArray(resources) ? resources.length : 0);
    },
  },
  {
    ref: "RFC 7644 §3.3",
    must: "A created resource has a Location that is its meta.location",
    holds: (answer) => {
      const location = answer.headers.get("location");
      return answer.status !== 201 ||
        (location !== null &&
          [undefined, location].includes(valueAt(answer.json, "meta/location") as string));
    },
  },
  {
    ref: "RFC 7644 §3.14",
    must: "meta.version is the ETag",
    holds: (answer) => {
      const version = valueAt(answer.json, "meta/version");
      const tag = answer.headers.get("etag");
      return typeof version !== "string" || tag === null || version === tag;
    },
  },
  {
    ref: "RFC 7643 §3.1",
    must: "meta.location is the Content-Location",
    holds: (answer) => {
      const location = valueAt(answer.json, "meta/location");
      const header = answer.headers.get("content-location");
      return typeof location !== "string" || header === null || header === location;
    },
  },
  {
    ref: "RFC 7643 §4.1.1",
    must: "A password is never in an answer",
    // The definition of the attribute in /Schemas has its name as a value.
    holds: ({ text }) => !/"password"\s*:/i.test(text),
  },
  {
    ref: "RFC 7644 §3.6",
    must: "204 and 304 have no body",
    holds: ({ status, text }) => (status !== 204 && status !== 304) || text === "",
  },
  {
    ref: "RFC 7644 §2",
    must: "401 names the supported schemes in WWW-Authenticate",
    holds: ({ status, headers }) => status !== 401 || headers.has("www-authenticate"),
  },
  {
    ref: "RFC 9110 §15.5.6",
    must: "405 names the allowed methods",
    holds: ({ status, headers }) => status !== 405 || headers.has("allow"),
  },
  {
    ref: "RFC 9110 §15.6",
    must: "The server never fails by itself",
    holds: ({ status }) => status < 500 || status === 501,
  },
];

/** The rules that an answer breaks, as sentences. */
export function answerProblems(answer: SuiteAnswer): string[] {
  return ANSWER_RULES.filter((rule) => !rule.holds(answer)).map(({ ref, must }) => `${ref}: ${must}`);
}
