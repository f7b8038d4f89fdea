// All phones, numbers and authenticator apps: whose, since when, last used, and taken away.

import { useSignal } from "@preact/signals";
import type { DevicePage, DeviceRow } from "../../api/people/group_shapes.ts";
import { whyNot } from "../access_words.ts";
import { sayOrProblem } from "../models/deed.ts";
import { listDevices, revokeDevice } from "../models/group_calls.ts";
import { useResource } from "../models/resource.ts";
import { userHref } from "../user_href.ts";
import { Fetched } from "../parts/connect/fetched.tsx";
import { type Column, DataTable } from "../parts/data_table.tsx";
import { FilterChips } from "../parts/filter_chips.tsx";
import { late } from "../parts/late.tsx";
import { PageBar } from "../parts/page_bar.tsx";
import { pageOf, Pager } from "../parts/pager.tsx";
import { factorLabel } from "../parts/people/user_states.tsx";
import { SearchBox } from "../parts/search_box.tsx";
import { EmptyState } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import type { PageProps } from "../page_loader.ts";
import { t } from "../words/translate.ts";

const ConfirmDialog = late(async () => (await import("../parts/confirm_dialog.tsx")).ConfirmDialog);

const PAGE_SIZE = 50;
const KINDS = ["device", "sms", "voice", "totp"] as const;
type Models = PageProps["models"];

export default function DevicesPage({ models }: PageProps) {
  const { param, setParams } = models.router;
  const filters = {
    q: param("q"),
    kind: param("kind"),
    page: String(pageOf(models)),
    size: String(PAGE_SIZE),
  };
  const list = useResource<DevicePage>(models, {
    fetch: () => listDevices(models, filters),
    inputs: Object.values(filters),
  });
  const revoking = useSignal<DeviceRow | null>(null);
  const reason = whyNot(models, "user_manager");
  const row = revoking.value;
  const isNarrowed = filters.q !== "" || filters.kind !== "";
  return (
    <main class="page" id="page">
      <PageBar title={t("frame.devices")} />
      <div class="people-filters" role="search" aria-label={t("groups.filters")}>
        <SearchBox models={models} label={t("groups.device_search")} />
        <select
          class="input"
          aria-label={t("groups.kind")}
          value={filters.kind}
          onChange={(event) => setParams({ kind: event.currentTarget.value, page: "" })}
        >
          <option value="">{`${t("groups.kind")}: ${t("people.any")}`}</option>
          {KINDS.map((kind) => <option key={kind} value={kind}>{factorLabel(kind)}</option>)}
        </select>
      </div>
      <FilterChips
        models={models}
        filters={[
          { name: "q", label: t("frame.search") },
          { name: "kind", label: t("groups.kind"), text: kindText },
        ]}
      />
      <Fetched resource={list}>
        {(page) =>
          page.rows.length === 0
            ? isNarrowed
              ? (
                <EmptyState
                  title={t("groups.device_none_match")}
                  next={t("groups.none_match_next")}
                  onClear={() => setParams({ q: "", kind: "", page: "" })}
                />
              )
              : <EmptyState title={t("groups.device_none")} next={t("groups.device_none_next")} />
            : (
              <>
                <section class="panel">
                  <DataTable
                    label={t("frame.devices")}
                    columns={columnsOf(models, { reason, revoke: (chosen) => revoking.value = chosen })}
                    rows={page.rows}
                    keyOf={({ id }) => id}
                    nameOf={({ user }) => user}
                    hrefOf={({ user }) => `${userHref(user)}#devices`}
                    busy={list.busy.value}
                  />
                </section>
                <Pager
                  models={models}
                  page={page.page}
                  pageSize={page.size}
                  shown={page.rows.length}
                  total={page.total}
                />
              </>
            )}
      </Fetched>
      {row !== null && (
        <ConfirmDialog
          title={t("groups.revoke_title", { factor: factorLabel(row.kind), name: row.user })}
          verb={t("groups.revoke")}
          onClose={() => revoking.value = null}
          onConfirm={async () => {
            const words = { factor: factorLabel(row.kind), name: row.user };
            const problem = await sayOrProblem(models, {
              call: () => revokeDevice(models, row.id),
              said: () => t("groups.revoked", words),
            });
            if (problem === null) void list.reload();
            return problem;
          }}
        >
          <p>{t(`groups.revoke_${row.kind}`, { name: row.user })}</p>
          <p>{t("groups.revoke_what")}</p>
          <p class="quiet">
            {row.usedMs === null ? t("groups.revoke_unused") : (
              <>
                {t("groups.used")}: <Time models={models} atMs={row.usedMs} />
              </>
            )}
          </p>
        </ConfirmDialog>
      )}
    </main>
  );
}

function kindText(value: string): string {
  const kind = KINDS.find((one) => one === value);
  return kind === undefined ? value : factorLabel(kind);
}

function columnsOf(
  models: Models,
  { reason, revoke }: { reason: string | undefined; revoke: (row: DeviceRow) => void },
): Column<DeviceRow>[] {
  return [
    { name: "user", label: t("groups.user"), cell: ({ user }) => <bdi class="wrap">{user}</bdi> },
    { name: "kind", label: t("groups.kind"), cell: ({ kind }) => factorLabel(kind) },
    {
      name: "number",
      label: t("groups.number"),
      wideOnly: true,
      cell: ({ number, phone }) => <bdi class={number === null ? "" : "mono"}>{number ?? phone}</bdi>,
    },
    {
      name: "since",
      label: t("groups.since"),
      wideOnly: true,
      cell: ({ createdMs }) => <Time models={models} atMs={createdMs} />,
    },
    {
      name: "used",
      label: t("groups.used"),
      wideOnly: true,
      cell: ({ usedMs }) =>
        usedMs === null
          ? <span class="quiet">{t("groups.used_never")}</span>
          : <Time models={models} atMs={usedMs} />,
    },
    {
      name: "actions",
      label: t("groups.revoke"),
      width: "120px",
      narrow: "96px",
      cell: (row) => (
        <button
          type="button"
          class="button button-small"
          disabled={reason !== undefined}
          title={reason}
          onClick={() => revoke(row)}
        >
          {t("groups.revoke")}
          <span class="unseen">{` ${factorLabel(row.kind)} ${row.phone ?? ""} ${row.user}`}</span>
        </button>
      ),
    },
  ];
}
