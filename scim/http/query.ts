// Reads the query parameters of an operation. Unknown parameters are ignored.

import { ScimRefusal } from "./refusals.ts";
import { MAX_FILTER_CHARACTERS } from "../filter/filter_tokens.ts";
import type { QueryName } from "./routes.ts";
import type { BackendInfo } from "../ports.ts";

/** The query of a request. Parameters that are absent, or that the operation ignores, have their defaults. */
export interface ScimQuery {
  readonly refresh: boolean;
  /** From 1. */
  readonly page: number;
  /** `null` if absent or empty. */
  readonly q: string | null;
  /** Absent: all backends of the target. */
  readonly backends?: readonly string[];
}

const PRESET: ScimQuery = { refresh: false, page: 1, q: null };
const MAX_PAGE = 2 ** 31;

interface QueryContext {
  readonly backends: readonly BackendInfo[];
}

/** The parser of each parameter. It throws the refusal for a bad value. */
const READERS: Readonly<Record<QueryName, (text: string, reading: QueryContext) => Partial<ScimQuery>>> = {
  refresh(text) {
    if (text !== "true" && text !== "false") throw invalid("refresh must be true or false.");
    return { refresh: text === "true" };
  },
  page(text) {
    const page = /^[0-9]{1,16}$/.test(text) ? Number(text) : 0;
    if (page < 1) throw invalid("page must be a whole number from 1, with at most 16 digits.");
    // No target has so many pages, so this page is empty, too.
    return { page: Math.min(page, MAX_PAGE) };
  },
  q(text) {
    if (text.length > MAX_FILTER_CHARACTERS) {
      throw invalid(`q must have at most ${MAX_FILTER_CHARACTERS.toLocaleString("en-US")} characters.`);
    }
    return { q: text.trim() === "" ? null : text };
  },
  backends: (text, { backends }) => ({ backends: backendNames(text, backends) }),
};

/**
 * @param given the request's parameters.
 * @param listed the parameters of the operation, and the backends of its target.
 * @throws ScimRefusal `invalid_value` or `unknown_backend`; also if one of these parameters is given twice.
 */
export function readQuery(
  given: URLSearchParams,
  listed: QueryContext & { readonly names: readonly QueryName[] },
): ScimQuery {
  let query = PRESET;
  for (const name of listed.names) {
    const values = given.getAll(name);
    const [text] = values;
    if (text === undefined) continue;
    if (values.length > 1) throw invalid(`${name} is given twice.`);
    query = { ...query, ...READERS[name](text, listed) };
  }
  return query;
}

function backendNames(text: string, backends: readonly BackendInfo[]): string[] {
  const names = [...new Set(text.split(",").map((name) => name.trim()))];
  for (const name of names) {
    if (name === "") {
      throw invalid("backends must be a list of names, separated by commas. One of them is empty.");
    }
    if (backends.some((one) => one.name === name)) continue;
    const known = backends.map((one) => `"${one.name}"`).join(", ");
    throw new ScimRefusal("unknown_backend", {
      detail: `The directory has no connector "${shortened(name)}". It has ${known}.`,
    });
  }
  return names;
}

const MAX_QUOTED_CHARACTERS = 64;

function shortened(text: string): string {
  return text.length > MAX_QUOTED_CHARACTERS ? `${text.slice(0, MAX_QUOTED_CHARACTERS)}…` : text;
}

function invalid(detail: string): ScimRefusal {
  return new ScimRefusal("invalid_value", { detail });
}
