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
  const invited = invitations.entries(byUser(from));
  const changes: TableChange[] = [
    ...paired.map((record) => pairings.change(record.id, { ...record, userName: name })),
    ...invited.map(([id, record]) => invitations.change(id, { ...record, userName: name })),
  ];
  return {
    checks: changes.flatMap(({ check }) => check ?? []),
    mutations: changes.map(({ mutation }) => mutation),
    done(versionstamp) {
      for (const change of changes) change.applied(versionstamp);
      for (const { phone } of paired) phoneEvents.emit(phone);
    },
    undo: () => undefined,
  };
}
