// Makes a credential of the identity interface; its password is shown this once, with a first call to try.

import { useSignal } from "@preact/signals";
import { addCredential } from "../../models/connect_calls.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../i18n/translate.ts";
import { type FieldRow, Fields } from "../fields.tsx";
import { FormDialog } from "../form_dialog.tsx";
import { Checkbox } from "../inputs.tsx";

interface AddProps {
  readonly models: Models;
  readonly targets: readonly string[];
  readonly onDone: () => void;
  readonly onClose: () => void;
}

interface Draft {
  readonly name: string;
  readonly access: "read" | "write";
}

const NAME_ROWS: readonly FieldRow<Draft>[] = [{
  name: "name",
  label: "connect.name",
  hint: "connect.name_hint",
  input: { required: true, maxLength: 64, pattern: "[A-Za-z0-9._\\-]+", autofocus: true },
}];
const ACCESS_ROWS: readonly FieldRow<Draft>[] = [{
  name: "access",
  label: "connect.access",
  choices: ["write", "read"],
  sayChoice: (value) => t(`connect.access_${value}`),
}];

export function CredentialDialog({ models, targets, onDone, onClose }: AddProps) {
  const draft = useSignal<Draft>({ name: "", access: "write" });
  const chosen = useSignal<readonly string[]>(targets.slice(0, 1));
  const make = async () => {
    const { name } = draft.value;
    const { password, url } = await addCredential(models, { ...draft.value, targets: [...chosen.value] });
    onDone();
    return {
      title: t("connect.password_of", { name }),
      secret: password,
      wide: true,
      children: <FirstCall command={`curl --user '${name}:${password}' '${url}?count=1'`} />,
    };
  };
  return (
    <FormDialog
      title={t("connect.credential_add")}
      verb={t("connect.credential_add")}
      reason={chosen.value.length === 0 ? t("connect.choose_target") : undefined}
      onClose={onClose}
      onSubmit={make}
    >
      <Fields prefix="credential" draft={draft} rows={NAME_ROWS} />
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
      <Fields prefix="credential" draft={draft} rows={ACCESS_ROWS} />
    </FormDialog>
  );
}

function FirstCall({ command }: { command: string }) {
  return (
    <>
      <p>{t("connect.curl")}</p>
      <pre class="mono" role="group" tabIndex={0} aria-label="curl">{command}</pre>
    </>
  );
}
