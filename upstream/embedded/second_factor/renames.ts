// A user of the directory gets another name: the phones and the open invitations of the embedded second-factor service follow.

import { NO_CHANGE, type PreparedRename, type Rename } from "../../../platform/write_batch.ts";
import { prepareChanges } from "../../../platform/table.ts";
import type { SecondFactorContext } from "./context.ts";
import { byUser } from "./records.ts";

export function prepareServiceRename(
  { tables: { pairings, invitations }, phoneEvents }: SecondFactorContext,
  { kind, from, name }: Rename,
): PreparedRename {
  if (kind === "group") return NO_CHANGE;
  const paired = pairings.list(byUser(from));
  const invited = invitations.list(byUser(from));
  const { done, ...prepared } = prepareChanges([
    ...paired.map((row) => pairings.replace(row, { ...row.value, userName: name })),
    ...invited.map((row) => invitations.replace(row, { ...row.value, userName: name })),
  ]);
  return {
    ...prepared,
    done(versionstamp) {
      done(versionstamp);
      for (const { value } of paired) phoneEvents.emit(value.phone);
    },
  };
}
