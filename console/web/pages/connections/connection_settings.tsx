// The settings of an identity provider: pause, dry run, limits, and what its requests may do. Changes are reviewed before they are saved.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { snakeName } from "../../../../platform/fields.ts";
import { CONNECTION_FIELDS } from "../../../../scim/v2/connections/connection_settings.ts";
import type { ConnectionChange, ConnectionRow } from "../../../api/connections/connection_types.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert } from "../../components/alert.tsx";
import { ReadOnlyField } from "../../components/field.tsx";
import { fieldRow, type FieldsDraft, toFieldsBody, toFieldsDraft } from "../../components/fields_dialog.tsx";
import { type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { Panel } from "../../components/page_layout.tsx";
import { ReviewDialog, ReviewedForm } from "../../components/review_dialog.tsx";
import type { MessageKey } from "../../i18n/catalogue.ts";
import { t } from "../../i18n/translate.ts";
import { changeConnection, type ConnectionPart, fetchConnection } from "./connection_calls.ts";

const FORM = {
  key: (name: string) =>
    name === "access" ? "common.permission" as const : `connections.field_${name}` as MessageKey,
  labels: {
    access: (value: string) => t(`connections.access_${value}` as MessageKey),
    adoption: (value: string) => t(`connections.adoption_${value}` as MessageKey),
  },
};
const NAMES: readonly string[] = [...Object.keys(CONNECTION_FIELDS), "meUser"];

function formRows(draft: FieldsDraft): readonly FieldRow<FieldsDraft>[] {
  return [
    ...Object.entries(CONNECTION_FIELDS).map(([name, field]) =>
      fieldRow(FORM, { name, field, draft, isNew: false, isSet: false })
    ),
    {
      name: "meUser",
      label: "connections.field_me_user",
      hint: "connections.field_me_user_hint",
      input: { maxLength: 256 },
    },
  ];
}

export function toConnectionDraft({ settings }: Pick<ConnectionRow, "settings">): FieldsDraft {
  return { ...toFieldsDraft(CONNECTION_FIELDS, settings), meUser: settings.meUser ?? "" };
}

/** The settings that differ, for the request. */
export function toConnectionChange(base: FieldsDraft, mine: FieldsDraft): ConnectionChange {
  const values: Record<string, unknown> = {
    ...toFieldsBody(CONNECTION_FIELDS, mine),
    meUser: String(mine["meUser"]).trim() || null,
  };
  return Object.fromEntries(changedNames(base, mine).map((name) => [name, values[name]]));
}

function changedNames(base: FieldsDraft, mine: FieldsDraft): readonly string[] {
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
        <FormFields prefix="connection" draft={draft} rows={formRows(draft.value)} />
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
            begin(now, {
              ...theirs,
              ...Object.fromEntries(changed.map((field) => [field, mine[field] ?? ""])),
            });
            return { fields: changedNames(base, theirs).map(labelOf) };
          }}
          onClose={() => isReviewing.value = false}
        >
          {changed.includes("adoption") && mine["adoption"] === "automatic" && (
            <Alert tone="wait">{t("connections.adoption_risk")}</Alert>
          )}
        </ReviewDialog>
      )}
    </Panel>
  );
}

function FixedSettings({ base }: { base: FieldsDraft }) {
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

function labelOf(name: string): string {
  return t(name === "meUser" ? "connections.field_me_user" : FORM.key(snakeName(name)));
}

/** The value of a field as text; `null` if it is empty. */
function valueText(draft: FieldsDraft, name: string): string | null {
  const value = draft[name];
  if (typeof value === "boolean") return t(value ? "common.yes" : "common.no");
  const text = String(value);
  if (name === "access" || name === "adoption") return FORM.labels[name](text);
  return text || null;
}
