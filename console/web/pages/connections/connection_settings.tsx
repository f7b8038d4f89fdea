// The settings of an identity provider: pause, dry run, limits, and what its requests may do. Changes are reviewed before they are saved.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import {
  MAX_REQUESTS_PER_MINUTE,
  MIN_REQUESTS_PER_MINUTE,
} from "../../../../scim/v2/connections/connection_settings.ts";
import type { ConnectionChange, ConnectionRow } from "../../../api/connections/connection_types.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert } from "../../components/alert.tsx";
import { ReadOnlyField } from "../../components/field.tsx";
import { type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { Panel } from "../../components/page_layout.tsx";
import { ReviewDialog, ReviewedForm } from "../../components/review_dialog.tsx";
import { t } from "../../i18n/translate.ts";
import { changeConnection, type ConnectionPart, fetchConnection } from "./connection_calls.ts";

/** The values of the form: numbers are texts while they are typed. */
export interface ConnectionDraft {
  readonly access: "write" | "read";
  readonly paused: boolean;
  readonly dryRun: boolean;
  readonly adoption: "confirm" | "automatic";
  readonly requestsPerMinute: string;
  readonly deletionPercent: string;
  readonly softDelete: boolean;
  readonly reactivate: boolean;
  readonly removeAllMembers: boolean;
  readonly meUser: string;
}
type Name = keyof ConnectionDraft;

const ROWS: readonly FieldRow<ConnectionDraft>[] = [
  {
    name: "access",
    label: "common.permission",
    choices: ["write", "read"],
    choiceLabel: (value) => t(`connections.access_${value}`),
  },
  {
    name: "adoption",
    label: "connections.field_adoption",
    hint: "connections.field_adoption_hint",
    choices: ["confirm", "automatic"],
    choiceLabel: (value) => t(`connections.adoption_${value}`),
  },
  { name: "paused", label: "connections.field_paused", hint: "connections.field_paused_hint" },
  { name: "dryRun", label: "connections.field_dryRun", hint: "connections.field_dryRun_hint" },
  {
    name: "requestsPerMinute",
    label: "connections.field_requestsPerMinute",
    hint: "connections.field_requestsPerMinute_hint",
    input: { type: "number", min: MIN_REQUESTS_PER_MINUTE, max: MAX_REQUESTS_PER_MINUTE, required: true },
  },
  {
    name: "deletionPercent",
    label: "connections.field_deletionPercent",
    hint: "connections.field_deletionPercent_hint",
    input: { type: "number", min: 0, max: 100, required: true },
  },
  { name: "softDelete", label: "connections.field_softDelete", hint: "connections.field_softDelete_hint" },
  { name: "reactivate", label: "connections.field_reactivate", hint: "connections.field_reactivate_hint" },
  {
    name: "removeAllMembers",
    label: "connections.field_removeAllMembers",
    hint: "connections.field_removeAllMembers_hint",
  },
  {
    name: "meUser",
    label: "connections.field_meUser",
    hint: "connections.field_meUser_hint",
    input: { maxLength: 256 },
  },
];
const NAMES: readonly Name[] = ROWS.map(({ name }) => name);

export function toConnectionDraft({ settings }: Pick<ConnectionRow, "settings">): ConnectionDraft {
  const { requestsPerMinute, deletionPercent, meUser } = settings;
  return {
    ...Object.fromEntries(NAMES.map((name) => [name, settings[name]])) as unknown as ConnectionDraft,
    requestsPerMinute: String(requestsPerMinute),
    deletionPercent: String(deletionPercent),
    meUser: meUser ?? "",
  };
}

/** The settings that differ, for the request. */
export function toConnectionChange(base: ConnectionDraft, mine: ConnectionDraft): ConnectionChange {
  const values: Required<ConnectionChange> = {
    ...mine,
    requestsPerMinute: Number(mine.requestsPerMinute),
    deletionPercent: Number(mine.deletionPercent),
    meUser: mine.meUser.trim() || null,
  };
  return Object.fromEntries(changedNames(base, mine).map((name) => [name, values[name]]));
}

function changedNames(base: ConnectionDraft, mine: ConnectionDraft): readonly Name[] {
  return NAMES.filter((name) => String(base[name]).trim() !== String(mine[name]).trim());
}

export function ConnectionSettingsForm({ models, item, page }: ConnectionPart) {
  /** The connection when the input began. A newer version replaces it only while nothing is typed. */
  const began = useSignal(item);
  const draft = useSignal(toConnectionDraft(item));
  const isReviewing = useSignal(false);
  const base = toConnectionDraft(began.value);
  const mine = draft.value;
  const { name } = item.settings;
  const begin = (now: ConnectionRow, next = toConnectionDraft(now)) => {
    began.value = now;
    draft.value = next;
  };
  useEffect(() => {
    if (changedNames(toConnectionDraft(began.peek()), draft.peek()).length === 0) begin(item);
  }, [item.version]);
  const changed = changedNames(base, mine);
  if (permissionHint(models, "owner") !== undefined) return <FixedSettings base={base} />;
  return (
    <Panel title={t("shell.settings")}>
      <ReviewedForm
        router={models.router}
        isSame={changed.length === 0}
        onReview={() => isReviewing.value = true}
        onDiscard={() => draft.value = base}
      >
        <FormFields prefix="connection" draft={draft} rows={ROWS} />
      </ReviewedForm>
      {isReviewing.value && (
        <ReviewDialog
          name={name}
          rows={changed.map((field) => ({
            name: labelOf(field),
            now: valueText(base, field),
            after: valueText(mine, field),
          }))}
          onSave={async () => {
            const change = toConnectionChange(base, mine);
            const now = await changeConnection(models, name, { version: began.value.version, change });
            models.toasts.show(t("common.name_changed", { name }), { tone: "ok" });
            begin(now.item);
            void page.reload();
          }}
          onRebase={async () => {
            const { item: now } = await fetchConnection(models, name);
            const theirs = toConnectionDraft(now);
            begin(now, { ...theirs, ...Object.fromEntries(changed.map((field) => [field, mine[field]])) });
            return { fields: changedNames(base, theirs).map(labelOf) };
          }}
          onClose={() => isReviewing.value = false}
        >
          {changed.includes("adoption") && mine.adoption === "automatic" && (
            <Alert tone="wait">{t("connections.adoption_risk")}</Alert>
          )}
        </ReviewDialog>
      )}
    </Panel>
  );
}

function FixedSettings({ base }: { base: ConnectionDraft }) {
  return (
    <Panel title={t("shell.settings")}>
      <div class="people-fields">
        {NAMES.map((name) => (
          <ReadOnlyField key={name} label={labelOf(name)}>
            {valueText(base, name) ?? t("common.none")}
          </ReadOnlyField>
        ))}
      </div>
    </Panel>
  );
}

function labelOf(name: Name): string {
  const row = ROWS.find((one) => one.name === name);
  return row === undefined ? name : t(row.label);
}

/** The value of a field as text; `null` if it is empty. */
function valueText(draft: ConnectionDraft, name: Name): string | null {
  const value = draft[name];
  if (typeof value === "boolean") return t(value ? "common.yes" : "common.no");
  if (name === "access") return t(`connections.access_${draft.access}`);
  if (name === "adoption") return t(`connections.adoption_${draft.adoption}`);
  return value || null;
}
