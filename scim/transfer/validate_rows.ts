// The check of a whole file before anything is written: every row like the body of a POST, addresses and numbers as in
// the console, and no user twice.

import { canonicalName } from "../../platform/canonical_name.ts";
import { contactProblems } from "../schema/contact_values.ts";
import type { Mapping } from "../schema/resource.ts";
import { readContent } from "../schema/parse_resource.ts";
import { distinctNames, readName } from "../schema/resource_name.ts";
import type { FileRow, RowFile } from "./row_reader.ts";
import { createNameSet, type NameSet } from "./name_hash_set.ts";

export interface FileCheck {
  readonly users: number;
  readonly groups: number;
  readonly passwords: number;
}

const TOO_LARGE_OCTETS = 1_048_576;

/**
 * Reads the file once, notes each fault with its line, and counts.
 *
 * @param options.contactRefusal why the target refuses the address or number of a row; `null` if the user already has it.
 */
export async function checkFile(
  file: RowFile,
  { mapping, faults, seed, tell, contactRefusal }: {
    mapping: Mapping;
    faults: { add(line: number, problem: string): void };
    seed: number;
    tell: (rows: number) => void;
    contactRefusal: (row: FileRow) => Promise<string | null>;
  },
): Promise<FileCheck> {
  const users = createNameSet(seed);
  const counts = { users: 0, groups: 0, passwords: 0 };
  let rows = 0;
  for await (const read of file.rows()) {
    tell(++rows);
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

type RowCheck =
  | { readonly ok: true; readonly hasPassword: boolean; readonly hasContactProblem: boolean }
  | { readonly ok: false; readonly problem: string };

function checkRow(
  { kind, body, groups }: FileRow,
  { mapping, users }: { mapping: Mapping; users: NameSet },
): RowCheck {
  const read = readContent(kind, body, { mapping, newName: () => "" });
  if (!read.ok) return refuse(read.detail);
  const { content, password } = read;
  if (content.name === "") {
    return refuse(`It has no ${kind === "user" ? "userName" : "groupName (displayName)"}.`);
  }
  if (JSON.stringify(content).length > TOO_LARGE_OCTETS) return refuse("It is over 1 MiB.");
  const wrong = groups.map(readName).find((one) => !one.ok);
  if (wrong !== undefined && !wrong.ok) return refuse(`A name in groups cannot be one: ${wrong.problem}.`);
  // A group may go on in further rows, which bring members.
  if (kind === "user" && !users.add(canonicalName(content.name))) {
    return refuse(`The user ${JSON.stringify(content.name)} stands in the file before.`);
  }
  const hasContactProblem = kind === "user" && contactProblems(content.attributes).length > 0;
  return { ok: true, hasPassword: password !== undefined, hasContactProblem };
}

function refuse(problem: string): RowCheck {
  return { ok: false, problem };
}

/** Names of groups as a row gives them, each once and in NFC; the check has found them sound. */
export function soundNames(names: readonly string[]): string[] {
  return distinctNames(names.flatMap((name) => {
    const read = readName(name);
    return read.ok ? [read.name] : [];
  }));
}

export interface Identified {
  readonly name: string;
  /** Of a group. */
  readonly members: readonly string[];
}

/** What a row names, and the members that a group's row brings; `null` for a row that the check would not have let pass. */
export function identify(
  { kind, body }: Pick<FileRow, "kind" | "body">,
  mapping: Mapping,
): Identified | null {
  const read = readContent(kind, body, { mapping, newName: () => "" });
  if (!read.ok || read.content.name === "") return null;
  const { content } = read;
  return { name: content.name, members: content.kind === "group" ? content.members : [] };
}
