// What a login of a member is answered with: the attributes of every login and those of the group, where each comes from, and where it stands.

import { useSignal } from "@preact/signals";
import type { BackendState } from "../../../../scim/schema/resource.ts";
import type { GroupView } from "../../../api/groups/group_types.ts";
import { whyNot } from "../../access_words.ts";
import type { GroupCalls } from "../../models/group_calls.ts";
import type { Models } from "../../models/models.ts";
import { notStoredText } from "../../not_stored_text.ts";
import { t } from "../../i18n/translate.ts";
import { Button } from "../button.tsx";
import { late } from "../late.tsx";
import { backendState } from "../people/user_states.tsx";
import { Chip } from "../status.tsx";

const RepliesDialog = late(async () => (await import("./replies_dialog.tsx")).RepliesDialog);

interface PolicyProps {
  readonly models: Models;
  readonly group: GroupView;
  readonly calls: GroupCalls;
  readonly onChanged: (now: GroupView) => void;
}

export function GroupPolicy({ models, group, calls, onChanged }: PolicyProps) {
  const editing = useSignal(false);
  const reason = whyNot(models, "owner") ??
    (!group.logsIn
      ? t("groups.replies_no_login")
      : group.repliesFrom === "settings"
      ? t("groups.replies_where")
      : undefined);
  return (
    <section class="panel people-panel" aria-label={t("groups.replies")}>
      <h2>{t("groups.replies_of")}</h2>
      {group.effective.length === 0
        ? <p class="quiet">{t(group.logsIn ? "groups.replies_none" : "groups.replies_no_login")}</p>
        : <Effective group={group} />}
      {group.repliesFrom === "settings" && <p class="quiet small">{t("groups.replies_where")}</p>}
      <div>
        <Button reason={reason} onClick={() => editing.value = true}>{t("groups.replies_edit")}</Button>
      </div>
      <div class="people-head">
        {group.backends.map(({ name, state }) => {
          const words = backendState(markOf(state));
          return <Chip key={name} words={{ ...words, label: `${name}: ${words.label}` }} />;
        })}
      </div>
      {group.backends.map(({ name, state }) =>
        state?.notStored !== undefined && (
          <p key={name} class="small">
            <bdi>{name}</bdi>: <bdi>{notStoredText(state.notStored)}</bdi>
          </p>
        )
      )}
      {editing.value && (
        <RepliesDialog
          group={group}
          calls={calls}
          onDone={(now: GroupView) => {
            onChanged(now);
            models.toasts.say(t("groups.replies_saved", { name: now.name }), { tone: "ok" });
          }}
          onClose={() => editing.value = false}
        />
      )}
    </section>
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
            <th scope="col">{t("groups.reply_name")}</th>
            <th scope="col">{t("groups.reply_value")}</th>
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
