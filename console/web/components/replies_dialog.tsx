// The editor of RADIUS reply attributes, of a group or of a user: rows of names and values, and a table of what changes.

import { type Signal, useSignal } from "@preact/signals";
import type { ReplyAttribute } from "../../api/groups/group_types.ts";
import type { ApiFailure } from "../app/api_client.ts";
import { t } from "../i18n/translate.ts";
import { Button } from "./button.tsx";
import { type DiffRow, DiffTable } from "./diff_table.tsx";
import { FormDialog } from "./form_dialog.tsx";
import { Icon } from "./icons.tsx";
import { ConflictNote, isChangedMeanwhile } from "./review_dialog.tsx";

/** What the dialog edits: the reply attributes of a group or a user. */
interface EditedReplies {
  readonly name: string;
  readonly replies: readonly ReplyAttribute[];
  readonly repliesVersion: number;
  /** Only of groups. */
  readonly repliesGroups?: "first" | "all";
}

interface RepliesProps<T extends EditedReplies> {
  readonly title: string;
  readonly hint: string;
  readonly edited: T;
  readonly calls: {
    readonly read: () => Promise<T>;
    readonly replies: (
      wanted: { attributes: readonly ReplyAttribute[]; groups: "first" | "all"; version: number },
    ) => Promise<T>;
  };
  readonly onDone: (now: T) => void;
  readonly onClose: () => void;
}

const EMPTY: ReplyAttribute = { name: "", value: "" };

const CELLS = [
  { name: "name", label: "common.attribute", maxLength: 64, example: "Filter-Id", list: "reply-names" },
  { name: "value", label: "common.value", maxLength: 253, example: "staff" },
] as const;

export function RepliesDialog<T extends EditedReplies>(
  { title, hint, edited, calls, onDone, onClose }: RepliesProps<T>,
) {
  /** The attributes when the form was opened, or after the last conflict. */
  const began = useSignal(edited);
  const rows = useSignal<readonly ReplyAttribute[]>(edited.replies.length === 0 ? [EMPTY] : edited.replies);
  const isAdded = useSignal(edited.repliesGroups === "all");
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
      title={title}
      submitLabel={t("common.save")}
      reason={changes.length === 0 ? t("common.nothing_changed") : undefined}
      onSubmit={save}
      onClose={onClose}
      wide
    >
      <p class="quiet">{hint}</p>
      {conflict.value !== null && (
        <ConflictNote lastChange={conflict.value.lastChange} unknown={t("common.replies_raced")}>
          {t("common.replies_raced_next")}
        </ConflictNote>
      )}
      <ReplyRows rows={rows} />
      <datalist id="reply-names">
        {COMMON.map((name) => <option key={name} value={name} />)}
      </datalist>
      <div>
        <Button small icon="plus" onClick={() => rows.value = [...rows.value, EMPTY]}>
          {t("common.reply_add")}
        </Button>
      </div>
      {edited.repliesGroups !== undefined && (
        <label class="check">
          <input
            type="checkbox"
            checked={isAdded.value}
            onChange={(event) => isAdded.value = event.currentTarget.checked}
          />
          <span>{t("common.replies_added")}</span>
        </label>
      )}
      {changes.length > 0 && (
        <DiffTable label={t("common.replies_changes", { name: edited.name })} rows={changes} />
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
      aria-label={t("common.reply_number", { number: at + 1 })}
      key={at}
    >
      {CELLS.map(({ name, label, example, ...input }) => (
        <input
          key={name}
          {...input}
          class="input mono"
          aria-label={t(label)}
          placeholder={t("common.example", { value: example })}
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
        aria-label={t("common.remove_name", { name: row.name || String(at + 1) })}
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
  return { name: t("common.replies_added"), now: word(!isAdded), after: word(isAdded) };
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
