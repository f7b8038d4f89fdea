// Reply attributes of a group: the effective attributes of a login with their origin, the editor, and the sync status of the group.

import { type Signal, useSignal } from "@preact/signals";
import type { BackendState } from "../../../../scim/schema/resource.ts";
import type { GroupView, ReplyAttribute } from "../../../api/groups/group_types.ts";
import type { ApiFailure } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { permissionHint } from "../../app/session_model.ts";
import { notStoredText } from "../../components/backend_results.tsx";
import { Button } from "../../components/button.tsx";
import { type DiffRow, DiffTable } from "../../components/diff_table.tsx";
import { ConflictNote, isChangedMeanwhile } from "../../components/review_dialog.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { Icon } from "../../components/icons.tsx";
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
      <h2>{t("groups.replies_of")}</h2>
      {group.effective.length === 0
        ? <p class="quiet">{t(group.logsIn ? "groups.replies_none" : "groups.replies_no_login")}</p>
        : <Effective group={group} />}
      {group.repliesFrom === "settings" && <p class="quiet small">{t("groups.replies_where")}</p>}
      <div>
        <Button reason={reason} onClick={() => editing.value = true}>{t("groups.replies_edit")}</Button>
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
          group={group}
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

interface RepliesProps {
  readonly group: GroupView;
  readonly calls: GroupCalls;
  readonly onDone: (now: GroupView) => void;
  readonly onClose: () => void;
}

const EMPTY: ReplyAttribute = { name: "", value: "" };

const CELLS = [
  { name: "name", label: "groups.reply_name", maxLength: 64, placeholder: "Filter-Id", list: "reply-names" },
  { name: "value", label: "groups.reply_value", maxLength: 253 },
] as const;

export function RepliesDialog({ group, calls, onDone, onClose }: RepliesProps) {
  /** The group when the form was opened, or after the last conflict. */
  const began = useSignal(group);
  const rows = useSignal<readonly ReplyAttribute[]>(group.replies.length === 0 ? [EMPTY] : group.replies);
  const isAdded = useSignal(group.repliesGroups === "all");
  /** The conflict that the last save caused. */
  const conflict = useSignal<ApiFailure | null>(null);
  const wanted = rows.value.filter(({ name, value }) => name.trim() !== "" || value !== "");
  const changes = [
    ...diffOf(began.value.replies, wanted),
    ...isAdded.value === (began.value.repliesGroups === "all") ? [] : [addedDiff(isAdded.value)],
  ];
  const save = async () => {
    try {
      const groups = isAdded.value ? "all" : "first";
      onDone(await calls.replies({ attributes: wanted, groups, version: began.value.repliesVersion }));
    } catch (fault) {
      if (!isChangedMeanwhile(fault)) throw fault;
      began.value = await calls.read();
      conflict.value = fault;
      return "stay" as const;
    }
  };
  return (
    <FormDialog
      title={t("groups.replies_title", { name: group.name })}
      submitLabel={t("common.save")}
      reason={changes.length === 0 ? t("groups.replies_same") : undefined}
      onSubmit={save}
      onClose={onClose}
      wide
    >
      <p class="quiet">{t("groups.replies_hint")}</p>
      {conflict.value !== null && (
        <ConflictNote lastChange={conflict.value.lastChange} unknown={t("groups.replies_raced")}>
          {t("groups.replies_raced_next")}
        </ConflictNote>
      )}
      <ReplyRows rows={rows} />
      <datalist id="reply-names">
        {COMMON.map((name) => <option key={name} value={name} />)}
      </datalist>
      <div>
        <Button small icon="plus" onClick={() => rows.value = [...rows.value, EMPTY]}>
          {t("groups.reply_add")}
        </Button>
      </div>
      <label class="check">
        <input
          type="checkbox"
          checked={isAdded.value}
          onChange={(event) => isAdded.value = event.currentTarget.checked}
        />
        <span>{t("groups.replies_added")}</span>
      </label>
      {changes.length > 0 && (
        <DiffTable label={t("groups.replies_changes", { name: group.name })} rows={changes} />
      )}
    </FormDialog>
  );
}

/** A name and a value in each row. Several rows with one name are its values. */
function ReplyRows({ rows }: { rows: Signal<readonly ReplyAttribute[]> }) {
  const put = (at: number, change: Partial<ReplyAttribute>) =>
    rows.value = rows.value.map((row, index) => index === at ? { ...row, ...change } : row);
  return rows.value.map((row, at) => (
    <div
      class="reply-row"
      role="group"
      aria-label={t("groups.reply_number", { number: at + 1 })}
      key={at}
    >
      {CELLS.map(({ name, label, ...input }) => (
        <input
          key={name}
          {...input}
          class="input mono"
          aria-label={t(label)}
          value={row[name]}
          required
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => put(at, { [name]: event.currentTarget.value })}
        />
      ))}
      <button
        type="button"
        class="button button-plain"
        aria-label={t("groups.reply_remove", { name: row.name || String(at + 1) })}
        onClick={() => rows.value = rows.value.filter((_row, index) => index !== at)}
      >
        <Icon name="x" />
      </button>
    </div>
  ));
}

/** Suggestions for the name. The server accepts every attribute of the dictionary. */
const COMMON = [
  "Class",
  "Filter-Id",
  "Session-Timeout",
  "Idle-Timeout",
  "Framed-IP-Address",
  "Framed-Pool",
  "Service-Type",
  "Reply-Message",
  "Tunnel-Type:1",
  "Tunnel-Medium-Type:1",
  "Tunnel-Private-Group-ID:1",
  "Cisco-AVPair",
];

const addedDiff = (isAdded: boolean): DiffRow => {
  const word = (value: boolean) => t(value ? "common.yes" : "common.no");
  return { name: t("groups.replies_added"), now: word(!isAdded), after: word(isAdded) };
};

function diffOf(now: readonly ReplyAttribute[], wanted: readonly ReplyAttribute[]): DiffRow[] {
  const names = [...new Set([...now, ...wanted].map(({ name }) => name.trim()))];
  const valueIn = (list: readonly ReplyAttribute[], name: string): string | null => {
    const values = list.filter((one) => one.name.trim() === name).map(({ value }) => value);
    return values.length === 0 ? null : values.join(", ");
  };
  return names.flatMap((name) => {
    const [before, after] = [valueIn(now, name), valueIn(wanted, name)];
    return before === after ? [] : [{ name, now: before, after }];
  });
}
