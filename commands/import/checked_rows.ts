// The check of a whole file before anything is written: every row like the body of a POST, and no user twice.

import { canonicalName } from "../../canonical_name.ts";
import type { Mapping } from "../../scim/ports.ts";
import { readContent } from "../../scim/pure/content.ts";
import { distinctNames, readName } from "../../scim/pure/names.ts";
import type { FaultList } from "./fault_list.ts";
import type { FileRow, RowFile } from "./file_rows.ts";
import { createNameSet, type NameSet } from "./name_set.ts";

export interface FileCheck {
  readonly users: number;
  readonly groups: number;
  readonly passwords: number;
}

const TOO_LARGE_OCTETS = 1_048_576;

/** Reads the file once, notes each fault with its line, and counts. */
export async function checkFile(
  file: RowFile,
  { mapping, faults, seed, tell }: {
    mapping: Mapping;
    faults: FaultList;
    seed: number;
    tell: (rows: number) => void;
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
    if (!checked.ok) faults.add(read.row.line, checked.problem);
    else if (read.row.kind === "group") counts.groups++;
    else {
      counts.users++;
      if (checked.hasPassword) counts.passwords++;
    }
  }
  return counts;
}

type RowCheck =
  | { readonly ok: true; readonly hasPassword: boolean }
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
  return { ok: true, hasPassword: password !== undefined };
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
