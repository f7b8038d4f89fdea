// A user of the directory gets another name: the phones and the open invitations of the embedded second-factor service follow.

import { NO_CHANGE, type PreparedRename, type Rename } from "../../../platform/write_batch.ts";
import type { TableChange } from "../table.ts";
import { byUser, type SecondFactorContext } from "./context.ts";

export function prepareServiceRename(
  { tables: { pairings, invitations }, phoneEvents }: SecondFactorContext,
  { kind, from, name }: Rename,
): PreparedRename {
  if (kind === "group") return NO_CHANGE;
  const paired = pairings.list(byUser(from));
  const invited = invitations.list(byUser(from));
  const changes: TableChange[] = [
    ...paired.map((row) => pairings.replace(row, { ...row.value, userName: name })),
    ...invited.map((row) => invitations.replace(row, { ...row.value, userName: name })),
  ];
  return {
    checks: changes.flatMap(({ check }) => check ?? []),
    mutations: changes.map(({ mutation }) => mutation),
    done(versionstamp) {
      for (const change of changes) change.applied(versionstamp);
      for (const { value } of paired) phoneEvents.emit(value.phone);
    },
    undo: () => undefined,
  };
}
