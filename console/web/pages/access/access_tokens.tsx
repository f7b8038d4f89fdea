// The API tokens: the list, creation (the token is shown once), and revocation.

import { useSignal } from "@preact/signals";
import type { TokenRow } from "../../../api/api_types.ts";
import type { Role } from "../../../api/auth/admin_records.ts";
import type { Models } from "../../app/app_context.ts";
import { useResource } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import type { TableColumn } from "../../components/data_table.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { useRows } from "../../components/row_actions.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { createApiToken, fetchTokens, revokeToken } from "./access_calls.ts";
import { AccessTable } from "./access_lists.tsx";
import { type AccessDialogProps, ROLE_ROW } from "./admin_dialogs.tsx";

export function TokenList({ models }: { models: Models }) {
  const reason = permissionHint(models, "owner");
  return reason === undefined ? <OwnersTokens models={models} /> : <Alert tone="idle">{reason}</Alert>;
}

function OwnersTokens({ models }: { models: Models }) {
  const resource = useResource(models, { fetch: () => fetchTokens(models), inputs: [] });
  const making = useSignal(false);
  const rows = useRows(models, resource);
  return (
    <>
      <AccessTable
        models={models}
        initialSort="name"
        nameOf={({ name }) => name}
        actionsOf={({ id, name }) => [
          rows.action({
            label: t("common.revoke"),
            icon: "trash-2",
            isBad: true,
            ask: {
              title: t("common.token_revoke_title", { name }),
              submitLabel: t("access.token_revoke_verb"),
              text: t("common.token_revoke_what"),
            },
            async run() {
              await revokeToken(models, id);
              return t("common.token_revoked", { name });
            },
          }),
        ]}
        label={t("access.tokens")}
        resource={resource}
        columns={columnsOf(models)}
        keyOf={({ id }) => id}
        empty={{ title: t("access.tokens_none"), next: t("access.tokens_none_next") }}
      >
        <Button kind="primary" icon="plus" onClick={() => making.value = true}>
          {t("access.token_make")}
        </Button>
      </AccessTable>
      {making.value && (
        <TokenDialog
          models={models}
          onDone={() => void resource.reload()}
          onClose={() => making.value = false}
        />
      )}
    </>
  );
}

function columnsOf(models: Models): readonly TableColumn<TokenRow>[] {
  return [
    {
      id: "name",
      label: t("common.name"),
      sort: ({ name }) => name,
      cell: ({ name }) => <bdi class="mono cut" title={name}>{name}</bdi>,
    },
    { id: "role", label: t("common.role"), width: "128px", cell: ({ role }) => t(`common.role_${role}`) },
    {
      id: "by",
      label: t("access.token_by"),
      min: 120,
      priority: 2,
      sort: ({ createdBy }) => createdBy,
      cell: ({ createdBy }) => <bdi class="mono cut" title={createdBy}>{createdBy}</bdi>,
    },
    {
      id: "used",
      label: t("common.last_used"),
      width: "140px",
      isLargestFirst: true,
      sort: ({ usedMs }) => usedMs,
      priority: 2,
      cell: ({ usedMs }) => usedMs === null ? t("common.never") : <Time models={models} atMs={usedMs} />,
    },
    {
      id: "expires",
      label: t("common.expires"),
      width: "140px",
      sort: ({ expiresMs }) => expiresMs,
      priority: 2,
      cell: ({ expiresMs }) => <Time models={models} atMs={expiresMs} />,
    },
  ];
}

interface TokenDraft {
  readonly name: string;
  readonly role: Role;
  readonly days: number;
}

const NEW_TOKEN: TokenDraft = { name: "", role: "viewer", days: 90 };
const TOKEN_ROWS: readonly FieldRow<TokenDraft>[] = [
  {
    name: "name",
    label: "access.token_name",
    hint: "access.token_name_hint",
    input: { required: true, maxLength: 64, autofocus: true },
  },
  ROLE_ROW,
  { name: "days", label: "access.token_days", input: { type: "number", min: 1, max: 366, required: true } },
];

export function TokenDialog({ models, onDone, onClose }: AccessDialogProps) {
  const draft = useSignal(NEW_TOKEN);
  return (
    <FormDialog
      title={t("access.token_make")}
      submitLabel={t("access.token_make")}
      onClose={onClose}
      onSubmit={async () => {
        // The value of an input is a text.
        const wanted = { ...draft.value, days: Number(draft.value.days) };
        const { token, item } = await createApiToken(models, wanted);
        onDone();
        return { title: t("access.token_of", { name: item.name }), secret: token };
      }}
    >
      <p>{t("access.token_why")}</p>
      <FormFields prefix="token" draft={draft} rows={TOKEN_ROWS} />
    </FormDialog>
  );
}
