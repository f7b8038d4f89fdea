// The guided setup of an identity provider: its name and directory, then the steps with the base address and the token.

import { useSignal } from "@preact/signals";
import type {
  ConnectionKind,
  ConnectionList,
  CreatedConnectionSecret,
} from "../../../api/connections/connection_types.ts";
import { OBJECT_NAME } from "../../../../platform/fields.ts";
import type { Models } from "../../app/app_context.ts";
import { Alert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { Checkbox } from "../../components/field.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { t } from "../../i18n/translate.ts";
import { addConnection, connectionHref } from "./connection_calls.ts";
import { SetupSteps } from "./setup_steps.tsx";

interface ConnectProps {
  readonly models: Models;
  readonly kind: ConnectionKind;
  readonly list: ConnectionList;
  readonly onClose: () => void;
}

interface Draft {
  readonly name: string;
  readonly target: string;
  readonly access: "write" | "read";
  readonly secretKind: "token" | "client_secret";
  readonly days: number;
  readonly dryRun: boolean;
}

const LIFETIMES = [0, 90, 180, 365];

export function ConnectDialog({ models, kind, list, onClose }: ConnectProps) {
  const created = useSignal<CreatedConnectionSecret | null>(null);
  const draft = useSignal<Draft>({
    name: freeName(kind, list),
    target: list.targets[0] ?? "",
    access: "write",
    secretKind: "token",
    days: 0,
    dryRun: false,
  });
  if (created.value !== null) {
    const { name } = created.value.item.settings;
    return (
      <SetupDialog
        models={models}
        created={created.value}
        onClose={() => {
          onClose();
          models.router.go(connectionHref(name));
        }}
      />
    );
  }
  const { name, target } = draft.value;
  const problem = nameProblem(name.trim(), list);
  return (
    <FormDialog
      title={t(`connections.connect_${kind}`)}
      submitLabel={t("connections.connect")}
      reason={problem ?? undefined}
      onClose={onClose}
      onSubmit={async () => {
        const { secretKind, days, name, ...rest } = draft.value;
        created.value = await addConnection(models, {
          ...rest,
          name: name.trim(),
          kind,
          secret: { kind: secretKind, days: days === 0 ? null : days },
        });
        return "stay";
      }}
    >
      <FormFields prefix="connection" draft={draft} rows={fieldRows(kind, { list, problem })} />
      {kind === "okta" && target.includes("_") && (
        <Alert tone="wait">{t("connections.okta_underscore")}</Alert>
      )}
    </FormDialog>
  );
}

function fieldRows(
  kind: ConnectionKind,
  { list, problem }: { list: ConnectionList; problem: string | null },
): readonly FieldRow<Draft>[] {
  return [
    {
      name: "name",
      label: "common.name",
      hint: "connections.name_hint",
      problem,
      input: { required: true, maxLength: 40, autofocus: true },
    },
    { name: "target", label: "common.target", hint: "connections.target_hint", choices: list.targets },
    {
      name: "access",
      label: "common.permission",
      choices: ["write", "read"],
      choiceLabel: (value) => t(`connections.access_${value}`),
    },
    // Okta and Entra ID have no OAuth client credentials for applications outside their catalogues.
    ...kind !== "other" ? [] : [
      {
        name: "secretKind",
        label: "connections.secret_kind",
        choices: ["token", "client_secret"],
        choiceLabel: (value) => t(`connections.secret_${value}`),
      } satisfies FieldRow<Draft>,
    ],
    {
      name: "days",
      label: "common.expires",
      hint: "connections.days_hint",
      choices: LIFETIMES,
      choiceLabel: daysText,
    },
    { name: "dryRun", label: "connections.field_dry_run", hint: "connections.field_dry_run_hint" },
  ];
}

/** Also of the dialog for another secret. */
export function daysText(days: number): string {
  return days === 0 ? t("common.never") : t("connections.days", { count: days });
}

function nameProblem(name: string, { items, reserved }: ConnectionList): string | null {
  if (name === "") return null;
  if (!OBJECT_NAME.test(name)) return t("connections.name_invalid");
  if (items.some(({ settings }) => settings.name === name)) return t("connections.name_taken");
  return reserved.some((one) => one.name === name) ? t("connections.name_reserved") : null;
}

/** `okta`, `okta-2` … */
function freeName(kind: ConnectionKind, list: ConnectionList): string {
  if (kind === "other") return "";
  let name: string = kind;
  for (let number = 2; nameProblem(name, list) !== null; number += 1) name = `${kind}-${number}`;
  return name;
}

interface SetupDialogProps {
  readonly models: Models;
  readonly created: CreatedConnectionSecret;
  readonly onClose: () => void;
}

/** Only "Done" closes it, because the token cannot be shown again. */
function SetupDialog({ models, created, onClose }: SetupDialogProps) {
  const isSaved = useSignal(false);
  const { item, tokenUrl, secret } = created;
  return (
    <Dialog
      title={t("connections.setup_of", { name: item.settings.name })}
      wide
      footer={
        <div class="secret-end">
          <Checkbox
            label={t("common.i_kept_it")}
            checked={isSaved.value}
            onChange={(checked) => isSaved.value = checked}
          />
          <Button kind="primary" disabled={!isSaved.value} onClick={onClose}>{t("common.done")}</Button>
        </div>
      }
    >
      <SetupSteps models={models} item={item} tokenUrl={tokenUrl} secret={secret} />
    </Dialog>
  );
}
