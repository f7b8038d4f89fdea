// Calls of the trash. A change waits for a sign-in or a recent factor.

import type { RestoreItem, TrashPage } from "../../../api/trash/trash_types.ts";
import { take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import type { FilterQuery } from "../../app/filters.ts";
import { failureText } from "../../app/api_client.ts";
import { userHref } from "../../app/routes.ts";
import { backendSummary } from "../../components/backend_results.tsx";
import { t } from "../../i18n/translate.ts";
import { targetQuery } from "./user_calls.ts";

/** Users of the trash. An empty target is the one whose users log in. */
export interface TrashChoice {
  readonly target: string;
  readonly ids: readonly string[];
}

/** The server validates the query. */
export function fetchTrash({ api }: Models, query: FilterQuery): Promise<TrashPage> {
  return take(api.trash.$get({ query } as Parameters<typeof api.trash.$get>[0]));
}

export function restoreUsers(
  { api, session }: Models,
  { target, ids }: TrashChoice,
): Promise<{ items: RestoreItem[] }> {
  const request = { query: targetQuery(target), json: { ids: [...ids] } };
  return session.whileSignedIn(() => take(api.trash.restore.$post(request)));
}

export function purgeUsers(
  { api, session }: Models,
  { target, ids }: TrashChoice,
): Promise<{ purged: number }> {
  const request = { query: targetQuery(target), json: { ids: [...ids] } };
  return session.whileSignedIn(() => take(api.trash.purge.$post(request)));
}

/** Undoes the deletion of a user, shows the result, and opens the user. */
export async function undoDeletion(
  models: Models,
  { target, id, name }: { target: string; id: string; name: string },
): Promise<void> {
  const fail = (reason: string) =>
    models.toasts.show(`${t("users.trash_not_undone", { name })} ${reason}`, { tone: "bad" });
  try {
    const [item] = (await restoreUsers(models, { target, ids: [id] })).items;
    if (item === undefined || item.problem !== null) return fail(item?.problem ?? "");
    const { receipt, missingGroups } = item;
    const summary = receipt === null ? "" : backendSummary(receipt.entries);
    const missing = missingGroups.length === 0
      ? ""
      : t("users.trash_group_missing", { name, groups: missingGroups.join(", ") });
    models.toasts.show([t("users.trash_restored_one", { name }), summary, missing].join(" ").trim(), {
      tone: missing === "" ? "ok" : "wait",
    });
    models.router.go(userHref(name, target));
  } catch (fault) {
    fail(failureText(fault));
  }
}
