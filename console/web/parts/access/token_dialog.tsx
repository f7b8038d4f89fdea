// Makes an API token, which is shown this once.

import { useSignal } from "@preact/signals";
import type { Role } from "../../../api/access.ts";
import { makeToken } from "../../models/access_calls.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../words/translate.ts";
import { Field } from "../field.tsx";
import { FormDialog } from "../form_dialog.tsx";
import { RoleField } from "./invite_dialog.tsx";
import { SecretDialog } from "../secret_once.tsx";

const PRESET_DAYS = 90;

interface TokenDialogProps {
  readonly models: Models;
  /** Something changed: the list is to be fetched again. */
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function TokenDialog({ models, onDone, onClose }: TokenDialogProps) {
  const role = useSignal<Role>("viewer");
  const made = useSignal<{ name: string; token: string } | null>(null);
  if (made.value !== null) {
    const { name, token } = made.value;
    return <SecretDialog title={t("access.token_of", { name })} secret={token} onClose={onClose} />;
  }
  return (
    <FormDialog
      title={t("access.token_make")}
      verb={t("access.token_make")}
      onClose={onClose}
      onSubmit={async (field) => {
        const wanted = { name: field("name"), role: role.value, days: Number(field("days")) };
        const { token, item } = await makeToken(models, wanted);
        made.value = { name: item.name, token };
        onDone();
      }}
    >
      <p>{t("access.token_why")}</p>
      <Field
        id="token-name"
        label={t("access.token_name")}
        hint={t("access.token_name_hint")}
        input={{ name: "name", required: true, maxLength: 64, autocomplete: "off", autofocus: true }}
      />
      <RoleField id="token-role" value={role.value} onChoose={(value) => role.value = value} />
      <Field
        id="token-days"
        label={t("access.token_days")}
        input={{ name: "days", type: "number", min: 1, max: 366, defaultValue: PRESET_DAYS, required: true }}
      />
    </FormDialog>
  );
}
