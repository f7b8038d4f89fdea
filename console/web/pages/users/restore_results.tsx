// The result of restoring deleted users.

import type { RestoreItem } from "../../../api/trash/trash_types.ts";
import { userHref } from "../../app/routes.ts";
import { Alert } from "../../components/alert.tsx";
import { t } from "../../i18n/translate.ts";

/** What was restored, what was not and why, and what remains to be done. */
export function RestoreResults({ items, target }: { items: readonly RestoreItem[]; target: string }) {
  const restored = items.filter(({ did }) => did === "restored");
  const failed = items.filter(({ did }) => did === "failed");
  const groups = restored.reduce((sum, one) => sum + one.groups.length, 0);
  const remarks = restored.flatMap(remarksOf);
  const isWhole = remarks.length === 0;
  return (
    <>
      {restored.length > 0 && (
        <Alert tone={isWhole ? "ok" : "wait"} icon={isWhole ? "check" : "alert"} role="status">
          <strong>{t("users.trash_restored", { count: restored.length, groups })}</strong>{" "}
          {t("users.trash_pair")} <UserLinks items={restored} target={target} />
          {!isWhole && (
            <ul class="people-consequences">
              {remarks.map((remark) => <li key={remark}>{remark}</li>)}
            </ul>
          )}
        </Alert>
      )}
      {failed.length > 0 && (
        <Alert tone="bad" role="alert">
          <strong>{t("users.trash_not_restored", { count: failed.length })}</strong>
          <ul class="people-consequences">
            {failed.map(({ id, name, problem }) => (
              <li key={id}>
                {name !== "" && <bdi>{`${name}: `}</bdi>}
                {problem}
              </li>
            ))}
          </ul>
        </Alert>
      )}
    </>
  );
}

const MAX_LINKS = 10;

function UserLinks({ items, target }: { items: readonly RestoreItem[]; target: string }) {
  const more = items.length - MAX_LINKS;
  return (
    <>
      {items.slice(0, MAX_LINKS).map(({ id, name }, at) => (
        <span key={id}>
          {at > 0 && ", "}
          <a href={`${userHref(name, target)}#devices`}>
            <bdi>{name}</bdi>
          </a>
        </span>
      ))}
      {more > 0 && ` ${t("common.and_more", { count: more })}`}
    </>
  );
}

function remarksOf({ name, missingGroups, failedGroups, lacksPassword, receipt }: RestoreItem): string[] {
  const queued = receipt?.entries.filter(({ outcome }) => outcome !== "done" && outcome !== "read_only") ??
    [];
  return [
    ...(missingGroups.length === 0
      ? []
      : [t("users.trash_group_missing", { name, groups: missingGroups.join(", ") })]),
    ...(failedGroups.length === 0
      ? []
      : [t("users.trash_group_failed", { name, groups: failedGroups.join(", ") })]),
    ...(lacksPassword ? [t("users.trash_no_password", { name })] : []),
    ...queued.map(({ backend }) => t("users.trash_pending", { name, backend })),
  ];
}
