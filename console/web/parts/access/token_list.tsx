// API tokens for scripts: made here, shown once, revoked at once.

import { useSignal } from "@preact/signals";
import type { TokenRow } from "../../../api/api_types.ts";
import { whyNot } from "../../access_words.ts";
import { fetchTokens, revokeToken } from "../../models/access_calls.ts";
import type { Models } from "../../models/models.ts";
import { useResource } from "../../models/resource.ts";
import { t } from "../../i18n/translate.ts";
import { AccessTable } from "./access_table.tsx";
import { Button } from "../button.tsx";
import type { Column } from "../data_table.tsx";
import { late } from "../late.tsx";
import { Note } from "../note.tsx";
import { Time } from "../time.tsx";

const ConfirmDialog = late(async () => (await import("../confirm_dialog.tsx")).ConfirmDialog);
const TokenDialog = late(async () => (await import("./token_dialog.tsx")).TokenDialog);

export function TokenList({ models }: { models: Models }) {
  const reason = whyNot(models, "owner");
  return reason === undefined ? <OwnersTokens models={models} /> : <Note tone="idle">{reason}</Note>;
}

function OwnersTokens({ models }: { models: Models }) {
  const resource = useResource(models, { fetch: () => fetchTokens(models), inputs: [] });
  const making = useSignal(false);
  const revoking = useSignal<TokenRow | null>(null);
  const columns: readonly Column<TokenRow>[] = [
    { label: t("access.name"), cell: ({ name }) => <bdi class="mono">{name}</bdi> },
    { label: t("access.role"), width: "22%", cell: ({ role }) => t(`frame.role_${role}`) },
    {
      label: t("access.token_by"),
      width: "16%",
      wideOnly: true,
      cell: ({ createdBy }) => <bdi class="mono">{createdBy}</bdi>,
    },
    {
      label: t("access.token_used"),
      width: "16%",
      wideOnly: true,
      cell: ({ usedMs }) =>
        usedMs === null ? t("access.passkey_unused") : <Time models={models} atMs={usedMs} />,
    },
    {
      label: t("access.token_expires"),
      width: "16%",
      wideOnly: true,
      cell: ({ expiresMs }) => <Time models={models} atMs={expiresMs} />,
    },
    {
      label: t("access.actions"),
      width: "110px",
      cell: (row) => (
        <Button small of={row.name} onClick={() => revoking.value = row}>
          {t("access.token_revoke")}
        </Button>
      ),
    },
  ];
  const token = revoking.value;
  return (
    <>
      <AccessTable
        label={t("access.tokens")}
        resource={resource}
        columns={columns}
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
      {token !== null && (
        <ConfirmDialog
          title={t("access.token_revoke_title", { name: token.name })}
          verb={t("access.token_revoke_verb")}
          onClose={() => revoking.value = null}
          onConfirm={async () => {
            await revokeToken(models, token.id);
            models.toasts.say(t("access.token_revoked_said", { name: token.name }), { tone: "ok" });
            void resource.reload();
          }}
        >
          <p>{t("access.token_revoke_why")}</p>
        </ConfirmDialog>
      )}
    </>
  );
}
