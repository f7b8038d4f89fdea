// What a login of a group's member is answered with, to be changed: each attribute with its value, and old and new before it is saved.

import { useSignal } from "@preact/signals";
import type { GroupView, ReplyAttribute } from "../../../api/groups/group_types.ts";
import type { ApiFailure } from "../../api_client.ts";
import type { GroupCalls } from "../../models/group_calls.ts";
import { t } from "../../i18n/translate.ts";
import { Button } from "../button.tsx";
import { type DiffRow, DiffTable } from "../diff_table.tsx";
import { FormDialog } from "../form_dialog.tsx";
import { ConflictNote, isStale } from "../review_dialog.tsx";
import { Symbol } from "../symbol.tsx";

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
  /** As they were when the form was opened; after a conflict, as they are now. */
  const began = useSignal(group);
  const rows = useSignal<readonly ReplyAttribute[]>(group.replies.length === 0 ? [EMPTY] : group.replies);
  /** The refusal of the last save because of another change. */
  const conflict = useSignal<ApiFailure | null>(null);
  const wanted = rows.value.filter(({ name, value }) => name.trim() !== "" || value !== "");
  const changes = diffOf(began.value.replies, wanted);
  const put = (at: number, change: Partial<ReplyAttribute>) =>
    rows.value = rows.value.map((row, index) => index === at ? { ...row, ...change } : row);
  const save = async () => {
    try {
      onDone(await calls.replies({ attributes: wanted, version: began.value.repliesVersion }));
    } catch (fault) {
      if (!isStale(fault)) throw fault;
      began.value = await calls.read();
      conflict.value = fault;
      return "stay" as const;
    }
  };
  return (
    <FormDialog
      title={t("groups.replies_title", { name: group.name })}
      verb={t("frame.save")}
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
      {rows.value.map((row, at) => (
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
            <Symbol name="x" />
          </button>
        </div>
      ))}
      <datalist id="reply-names">
        {COMMON.map((name) => <option key={name} value={name} />)}
      </datalist>
      <div>
        <Button small icon="plus" onClick={() => rows.value = [...rows.value, EMPTY]}>
          {t("groups.reply_add")}
        </Button>
      </div>
      {changes.length > 0 && (
        <DiffTable label={t("groups.replies_changes", { name: group.name })} rows={changes} />
      )}
    </FormDialog>
  );
}

/** Offered while a name is typed; every attribute of the dictionary is taken. */
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

function diffOf(now: readonly ReplyAttribute[], wanted: readonly ReplyAttribute[]): DiffRow[] {
  const names = [...new Set([...now, ...wanted].map(({ name }) => name.trim()))];
  const valueIn = (list: readonly ReplyAttribute[], name: string): string | null =>
    list.find((one) => one.name.trim() === name)?.value ?? null;
  return names.flatMap((name) => {
    const [before, after] = [valueIn(now, name), valueIn(wanted, name)];
    return before === after ? [] : [{ name, now: before, after }];
  });
}
