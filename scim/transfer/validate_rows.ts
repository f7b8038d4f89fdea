// Checks a whole file before an import writes: each row like the body of a POST, contact values as in the console, and
// no user twice.

import { canonicalName } from "../../platform/canonical_name.ts";
import { contactProblems } from "../schema/contact_values.ts";
import type { Content, Mapping } from "../schema/resource.ts";
import { parseResource } from "../schema/parse_resource.ts";
import { distinctNames, parseName } from "../schema/resource_name.ts";
import type { FileRow, RowFile } from "./row_reader.ts";
import { NameHashSet } from "../directory/name_hashes.ts";

export interface FileCheck {
  readonly users: number;
  readonly groups: number;
  readonly passwords: number;
}

const TOO_LARGE_CHARACTERS = 1_048_576;

/**
 * Reads the file once, records each fault with its line, and counts the rows.
 *
 * @param options.contactRefusal returns why the target refuses the address or number of a row. `null` if the user already has it.
 */
export async function checkFile(
  file: RowFile,
  { mapping, faults, seed, onChecked, contactRefusal }: {
    mapping: Mapping;
    faults: { add(line: number, problem: string): void };
    seed: number;
    onChecked: (rows: number) => void;
    contactRefusal: (row: FileRow) => Promise<string | null>;
  },
): Promise<FileCheck> {
  const users = new NameHashSet(seed);
  const counts = { users: 0, groups: 0, passwords: 0 };
  let rows = 0;
  for await (const read of file.rows()) {
    onChecked(++rows);
    if (!read.ok) {
      faults.add(read.line, read.problem);
      continue;
    }
    const checked = checkRow(read.row, { mapping, users });
    const refusal = checked.ok && checked.hasContactProblem ? await contactRefusal(read.row) : null;
    if (!checked.ok) faults.add(read.row.line, checked.problem);
    else if (refusal !== null) faults.add(read.row.line, refusal);
    else if (read.row.kind === "group") counts.groups++;
    else {
      counts.users++;
      if (checked.hasPassword) counts.passwords++;
    }
  }
  return counts;
}

type ReadRow =
  | { readonly ok: true; readonly content: Content; readonly password: string | undefined }
  | RowProblem;

interface RowProblem {
  readonly ok: false;
  readonly problem: string;
}

const refuse = (problem: string): RowProblem => ({ ok: false, problem });

/** Reads a row like the body of a POST that must have a name. */
export function readRow({ kind, body, groups }: FileRow, mapping: Mapping): ReadRow {
  const read = parseResource(kind, body, { mapping, newName: () => "" });
  if (!read.ok) return refuse(read.detail);
  if (read.content.name === "") {
    return refuse(`It has no ${kind === "user" ? "userName" : "groupName (displayName)"}.`);
  }
  if (JSON.stringify(read.content).length > TOO_LARGE_CHARACTERS) return refuse("It is over 1 MiB.");
  const wrong = groups.map(parseName).find((one) => !one.ok);
  return wrong === undefined || wrong.ok ? read : refuse(`A name in groups is not valid: ${wrong.problem}.`);
}

type RowCheck =
  | { readonly ok: true; readonly hasPassword: boolean; readonly hasContactProblem: boolean }
  | RowProblem;

function checkRow(row: FileRow, { mapping, users }: { mapping: Mapping; users: NameHashSet }): RowCheck {
  const read = readRow(row, mapping);
  if (!read.ok) return read;
  const { content, password } = read;
  // Further rows of a group add members.
  if (row.kind === "user" && !users.add(canonicalName(content.name))) {
    return refuse(`An earlier row contains the user ${JSON.stringify(content.name)}.`);
  }
  const hasContactProblem = row.kind === "user" && contactProblems(content.attributes).length > 0;
  return { ok: true, hasPassword: password !== undefined, hasContactProblem };
}

/** The names of the groups of a valid row, each once and in NFC. */
export function validNames(names: readonly string[]): readonly string[] {
  return distinctNames(names.flatMap((name) => {
    const read = parseName(name);
    return read.ok ? [read.name] : [];
  }));
}

export interface Identified {
  readonly name: string;
  /** The members of a group. Empty for a user. */
  readonly members: readonly string[];
}

/** The name in a row, and the members in the row of a group. `null` if the row is not valid. */
export function identifyRow(
  { kind, body }: Pick<FileRow, "kind" | "body">,
  mapping: Mapping,
): Identified | null {
  const read = parseResource(kind, body, { mapping, newName: () => "" });
  if (!read.ok || read.content.name === "") return null;
  const { content } = read;
  return { name: content.name, members: content.kind === "group" ? content.members : [] };
}
