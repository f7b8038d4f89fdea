// Reply attributes of a group: the effective attributes of a login with their origin, the editor, and the sync status of the group.

import { useSignal } from "@preact/signals";
import type { BackendState } from "../../../../scim/schema/resource.ts";
import type { GroupView } from "../../../api/groups/group_types.ts";
import type { Models } from "../../app/app_context.ts";
import { permissionHint } from "../../app/session_model.ts";
import { notStoredText } from "../../components/backend_results.tsx";
import { Button } from "../../components/button.tsx";
import { RepliesDialog } from "../../components/replies_dialog.tsx";
import { Chip } from "../../components/status.tsx";
import { t } from "../../i18n/translate.ts";
import { backendState } from "../users/user_states.tsx";
import type { GroupCalls } from "./group_calls.ts";

interface PolicyProps {
  readonly models: Models;
  readonly group: GroupView;
  readonly calls: GroupCalls;
  readonly onChanged: (now: GroupView) => void;
}

export function GroupPolicy({ models, group, calls, onChanged }: PolicyProps) {
  const editing = useSignal(false);
  const reason = permissionHint(models, "owner") ??
    (!group.logsIn
      ? t("groups.replies_no_login")
      : group.repliesFrom === "settings"
      ? t("groups.replies_where")
      : undefined);
  return (
    <section class="panel people-panel" aria-label={t("groups.replies")}>
      <h2>{t("common.reply_attributes")}</h2>
      {group.effective.length === 0
        ? <p class="quiet">{t(group.logsIn ? "groups.replies_none" : "groups.replies_no_login")}</p>
        : <Effective group={group} />}
      {group.repliesFrom === "settings" && <p class="quiet small">{t("groups.replies_where")}</p>}
      <div>
        <Button reason={reason} onClick={() => editing.value = true}>{t("common.replies_edit")}</Button>
      </div>
      {group.policies !== undefined && group.policies.length > 0 && (
        <p class="small">
          {t("groups.policies")} {group.policies.map((name, at) => (
            <span key={name}>
              {at > 0 && ", "}
              <a href="/policies">
                <bdi>{name}</bdi>
              </a>
            </span>
          ))}
        </p>
      )}
      {group.backends.map(({ name, state }) =>
        state?.notStored !== undefined && (
          <p key={name} class="small">
            <bdi>{name}</bdi>: <bdi>{notStoredText(state.notStored)}</bdi>
          </p>
        )
      )}
      {editing.value && (
        <RepliesDialog
          title={t("common.reply_attributes_of", { name: group.name })}
          hint={t("groups.replies_hint")}
          edited={group}
          calls={calls}
          onDone={(now: GroupView) => {
            onChanged(now);
            models.toasts.show(t("groups.replies_saved", { name: now.name }), { tone: "ok" });
          }}
          onClose={() => editing.value = false}
        />
      )}
    </section>
  );
}

/** The sync status of the group at each connector, for the heading. */
export function GroupBackends({ group: { backends } }: Pick<PolicyProps, "group">) {
  return (
    <>
      {backends.map(({ name, state }) => {
        const words = backendState(markOf(state));
        return <Chip key={name} words={{ ...words, label: `${name}: ${words.label}` }} />;
      })}
    </>
  );
}

function markOf(state: BackendState | null): Parameters<typeof backendState>[0] {
  if (state === null) return null;
  return {
    state: state.state,
    differs: state.differs === true,
    ...(state.notStored === undefined ? {} : { notStored: state.notStored.count }),
  };
}

function Effective({ group: { name, effective } }: Pick<PolicyProps, "group">) {
  return (
    <div class="table-frame" role="region" aria-label={t("groups.effective_of", { name })} tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">{t("common.attribute")}</th>
            <th scope="col">{t("common.value")}</th>
            <th scope="col">{t("groups.reply_from")}</th>
          </tr>
        </thead>
        <tbody>
          {effective.map((row) => (
            <tr key={`${row.from} ${row.name}`}>
              <th scope="row" class="mono">{row.name}</th>
              <td class="mono">
                <bdi>{row.value}</bdi>
              </td>
              <td>{t(row.from === "group" ? "groups.from_group" : "groups.from_default")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
