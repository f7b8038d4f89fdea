// Credentials of the identity interface: who may read and write through it.

import { useSignal } from "@preact/signals";
import { whyNot } from "../access_words.ts";
import { fetchCredentials, revokeCredential } from "../models/connect_calls.ts";
import { useResource } from "../models/resource.ts";
import { Button } from "../parts/button.tsx";
import type { Column } from "../parts/data_table.tsx";
import { AuditSign } from "../parts/audit_link.tsx";
import { late } from "../parts/late.tsx";
import { ListPage } from "../parts/list_page.tsx";
import { Note } from "../parts/note.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import { Time } from "../parts/time.tsx";
import type { PageProps } from "../page_loader.ts";
import { valueOf } from "../remote.ts";
import { t } from "../i18n/translate.ts";

const ConfirmDialog = late(async () => (await import("../parts/confirm_dialog.tsx")).ConfirmDialog);
const CredentialDialog = late(async () =>
  (await import("../parts/connect/credential_dialog.tsx")).CredentialDialog
);
const SAYS = {
  failed: "connect.unread",
  old: "connect.old",
  none: ["connect.credentials_none", "connect.credentials_none_next"],
} as const;

type Models = PageProps["models"];
type Row = Awaited<ReturnType<typeof fetchCredentials>>["items"][number];

export default function CredentialsPage({ models }: PageProps) {
  const reason = whyNot(models, "owner");
  if (reason === undefined) return <Owners models={models} />;
  return (
    <main class="page" id="page">
      <PageBar title={t("frame.credentials")} />
      <Note tone="idle">{reason}</Note>
    </main>
  );
}

function Owners({ models }: { models: Models }) {
  const list = useResource(models, { fetch: () => fetchCredentials(models), inputs: [] });
  const adding = useSignal(false);
  const revoking = useSignal<string | null>(null);
  const name = revoking.value;
  const answer = valueOf(list.state.value);
  return (
    <ListPage
      models={models}
      title={t("frame.credentials")}
      says={SAYS}
      resource={list}
      note={() => <Note tone="idle">{t("connect.credentials_not_providers")}</Note>}
      actions={
        <Button kind="primary" icon="plus" onClick={() => adding.value = true}>
          {t("connect.credential_add")}
        </Button>
      }
      rows={({ items }) => items}
      columns={columnsOf(models, (row) => revoking.value = row.name)}
      keyOf={(row) => row.name}
    >
      {adding.value && answer !== null && (
        <CredentialDialog
          models={models}
          targets={answer.targets}
          onDone={() => void list.reload()}
          onClose={() => adding.value = false}
        />
      )}
      {name !== null && (
        <ConfirmDialog
          title={t("connect.revoke_title", { name })}
          verb={t("connect.revoke")}
          onClose={() => revoking.value = null}
          onConfirm={async () => {
            await revokeCredential(models, name);
            models.toasts.say(t("connect.revoked", { name }), { tone: "ok" });
            void list.reload();
          }}
        >
          <p>{t("connect.revoke_why")}</p>
        </ConfirmDialog>
      )}
    </ListPage>
  );
}

function columnsOf(models: Models, revoke: (row: Row) => void): readonly Column<Row>[] {
  return [
    {
      label: t("connect.name"),
      cell: ({ name, targets }) => (
        <span class="cell-named">
          <bdi class="mono cut">{name}</bdi>
          <AuditSign object={`credential:${targets[0] ?? ""}/${name}`} />
        </span>
      ),
    },
    {
      label: t("frame.targets"),
      wideOnly: true,
      cell: ({ targets }) => <bdi class="mono">{targets.join(", ")}</bdi>,
    },
    {
      label: t("connect.access"),
      width: "120px",
      narrow: "72px",
      cell: ({ access }) => t(`connect.access_${access}`),
    },
    {
      label: t("connect.made"),
      width: "140px",
      wideOnly: true,
      cell: ({ createdMs }) =>
        createdMs === null ? t("connect.from_settings") : <Time models={models} atMs={createdMs} />,
    },
    {
      label: t("connect.actions"),
      width: "120px",
      narrow: "92px",
      cell: (row) => (
        <Button
          small
          reason={row.from === "settings" ? t("connect.credential_in_settings") : undefined}
          of={row.name}
          onClick={() => revoke(row)}
        >
          {t("connect.revoke")}
        </Button>
      ),
    },
  ];
}
