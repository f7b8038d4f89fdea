// Makes a credential of the identity interface; its password is shown this once, with a first call to try.

import { useSignal } from "@preact/signals";
import { addCredential } from "../../models/connect_calls.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../words/translate.ts";
import { TextField } from "../field.tsx";
import { FormDialog } from "../form_dialog.tsx";
import { Checkbox, SelectField } from "../inputs.tsx";
import { SecretDialog } from "../secret_once.tsx";

interface AddProps {
  readonly models: Models;
  readonly targets: readonly string[];
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function CredentialDialog({ models, targets, onDone, onClose }: AddProps) {
  const name = useSignal("");
  const chosen = useSignal<readonly string[]>(targets.slice(0, 1));
  const access = useSignal<"read" | "write">("write");
  const made = useSignal<{ password: string; url: string } | null>(null);
  if (made.value !== null) {
    const { password, url } = made.value;
    const title = t("connect.password_of", { name: name.value });
    return (
      <SecretDialog title={title} secret={password} wide onClose={onClose}>
        <p>{t("connect.curl")}</p>
        <pre class="mono" role="group" tabIndex={0} aria-label="curl">
          {`curl --user '${name.value}:${password}' '${url}?count=1'`}
        </pre>
      </SecretDialog>
    );
  }
  return (
    <FormDialog
      title={t("connect.credential_add")}
      verb={t("connect.credential_add")}
      reason={chosen.value.length === 0 ? t("connect.choose_target") : undefined}
      onClose={onClose}
      onSubmit={async () => {
        made.value = await addCredential(models, {
          name: name.value,
          targets: [...chosen.value],
          access: access.value,
        });
        onDone();
      }}
    >
      <TextField
        id="credential-name"
        label={t("connect.name")}
        hint={t("connect.name_hint")}
        text={name}
        input={{ required: true, maxLength: 64, pattern: "[A-Za-z0-9._\\-]+", autofocus: true }}
      />
      <fieldset class="connect-choice">
        <legend>{t("frame.targets")}</legend>
        {targets.map((target) => (
          <Checkbox
            key={target}
            label={target}
            checked={chosen.value.includes(target)}
            onChange={(checked) =>
              chosen.value = checked
                ? [...chosen.value, target]
                : chosen.value.filter((one) => one !== target)}
          />
        ))}
      </fieldset>
      <SelectField
        id="credential-access"
        label={t("connect.access")}
        value={access.value}
        options={(["write", "read"] as const).map((value) => ({
          value,
          label: t(`connect.access_${value}`),
        }))}
        onChoose={(value) => access.value = value === "read" ? "read" : "write"}
      />
    </FormDialog>
  );
}
