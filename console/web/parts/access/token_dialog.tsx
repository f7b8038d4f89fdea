// Makes an API token, which is shown this once.

import { useSignal } from "@preact/signals";
import type { Role } from "../../../api/auth/permissions.ts";
import { makeToken } from "../../models/access_calls.ts";
import { t } from "../../i18n/translate.ts";
import { type FieldRow, Fields } from "../fields.tsx";
import { FormDialog } from "../form_dialog.tsx";
import type { MakeProps } from "./invite_dialog.tsx";
import { ROLE_ROW } from "./role_row.ts";

interface Draft {
  readonly name: string;
  readonly role: Role;
  readonly days: number;
}

const PRESET: Draft = { name: "", role: "viewer", days: 90 };
const ROWS: readonly FieldRow<Draft>[] = [
  {
    name: "name",
    label: "access.token_name",
    hint: "access.token_name_hint",
    input: { required: true, maxLength: 64, autofocus: true },
  },
  ROLE_ROW,
  { name: "days", label: "access.token_days", input: { type: "number", min: 1, max: 366, required: true } },
];

export function TokenDialog({ models, onDone, onClose }: MakeProps) {
  const draft = useSignal(PRESET);
  return (
    <FormDialog
      title={t("access.token_make")}
      verb={t("access.token_make")}
      onClose={onClose}
      onSubmit={async () => {
        // What is typed is a text until here.
        const wanted = { ...draft.value, days: Number(draft.value.days) };
        const { token, item } = await makeToken(models, wanted);
        onDone();
        return { title: t("access.token_of", { name: item.name }), secret: token };
      }}
    >
      <p>{t("access.token_why")}</p>
      <Fields prefix="token" draft={draft} rows={ROWS} />
    </FormDialog>
  );
}
