// Credentials of the identity interface: who may read and write through it.

import { useSignal } from "@preact/signals";
import { whyNot } from "../access_words.ts";
import { fetchCredentials, revokeCredential } from "../models/connect_calls.ts";
import { sayOrProblem } from "../models/deed.ts";
import { useResource } from "../models/resource.ts";
import { Fetched } from "../parts/connect/fetched.tsx";
import { type Column, DataTable } from "../parts/data_table.tsx";
import { AuditSign } from "../parts/audit_link.tsx";
import { late } from "../parts/late.tsx";
import { Note } from "../parts/note.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import { EmptyState } from "../parts/states.tsx";
import { Symbol } from "../parts/symbol.tsx";
import { Time } from "../parts/time.tsx";
import type { PageProps } from "../page_loader.ts";
import { t } from "../words/translate.ts";

const ConfirmDialog = late(async () => (await import("../parts/confirm_dialog.tsx")).ConfirmDialog);
const CredentialDialog = late(async () =>
  (await import("../parts/connect/credential_dialog.tsx")).CredentialDialog
);

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
  const state = list.state.value;
  return (
    <main class="page" id="page">
      <PageBar title={t("frame.credentials")}>
        <button type="button" class="button button-primary" onClick={() => adding.value = true}>
          <Symbol name="plus" /> {t("connect.credential_add")}
        </button>
      </PageBar>
      <Fetched resource={list}>
        {({ items }) =>
          items.length === 0
            ? <EmptyState title={t("connect.credentials_none")} next={t("connect.credentials_none_next")} />
            : (
              <section class="panel">
                <DataTable
                  label={t("frame.credentials")}
                  columns={columnsOf(models, (row) => revoking.value = row.name)}
                  rows={items}
                  keyOf={(row) => row.name}
                  nameOf={(row) => row.name}
                  busy={list.busy.value}
                />
              </section>
            )}
      </Fetched>
      {adding.value && state.kind === "ready" && (
        <CredentialDialog
          models={models}
          targets={state.value.targets}
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
            const problem = await sayOrProblem(models, {
              call: () => revokeCredential(models, name),
              said: () => t("connect.revoked", { name }),
            });
            if (problem === null) void list.reload();
            return problem;
          }}
        >
          <p>{t("connect.revoke_why")}</p>
        </ConfirmDialog>
      )}
    </main>
  );
}

function columnsOf(models: Models, revoke: (row: Row) => void): readonly Column<Row>[] {
  return [
    {
      name: "name",
      label: t("connect.name"),
      cell: ({ name, targets }) => (
        <span class="cell-named">
          <bdi class="mono cut">{name}</bdi>
          <AuditSign object={`credential:${targets[0] ?? ""}/${name}`} />
        </span>
      ),
    },
    {
      name: "targets",
      label: t("frame.targets"),
      wideOnly: true,
      cell: ({ targets }) => <bdi class="mono">{targets.join(", ")}</bdi>,
    },
    {
      name: "access",
      label: t("connect.access"),
      width: "120px",
      narrow: "72px",
      cell: ({ access }) => t(`connect.access_${access}`),
    },
    {
      name: "made",
      label: t("connect.made"),
      width: "140px",
      wideOnly: true,
      cell: ({ createdMs }) =>
        createdMs === null ? t("connect.from_settings") : <Time models={models} atMs={createdMs} />,
    },
    {
      name: "actions",
      label: t("connect.actions"),
      width: "120px",
      narrow: "92px",
      cell: (row) => (
        <button
          type="button"
          class="button button-small"
          disabled={row.from === "settings"}
          title={row.from === "settings" ? t("connect.credential_in_settings") : undefined}
          onClick={() => revoke(row)}
        >
          {t("connect.revoke")} <span class="unseen">{row.name}</span>
        </button>
      ),
    },
  ];
}
