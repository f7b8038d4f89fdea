// The list of users: search, filters, one page at a time, and a way to make one.

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { UserPage, UserRow } from "../../api/users/user_types.ts";
import { whyNot } from "../access_words.ts";
import { type Filter, useFiltered } from "../models/filters.ts";
import { useListSelection } from "../models/selection.ts";
import { listUsers } from "../models/user_calls.ts";
import { userHref } from "../user_href.ts";
import { Button } from "../parts/button.tsx";
import type { Column } from "../parts/data_table.tsx";
import { ExportButton } from "../parts/export_button.tsx";
import { late } from "../parts/late.tsx";
import { ListPage } from "../parts/list_page.tsx";
import { Note } from "../parts/note.tsx";
import { BackendMarks, factorLabel, userState } from "../parts/people/user_states.tsx";
import { Status } from "../parts/status.tsx";
import { Symbol } from "../parts/symbol.tsx";
import type { PageProps } from "../page_loader.ts";
import { valueOf } from "../remote.ts";
import { useShortcuts } from "../shortcuts.ts";
import { t } from "../i18n/translate.ts";
import type { MessageKey } from "../i18n/catalogue.ts";

const CreateUserDialog = late(async () =>
  (await import("../parts/people/create_user_dialog.tsx")).CreateUserDialog
);
const BulkBar = late(async () => (await import("../parts/people/bulk_bar.tsx")).BulkBar);

const STATUSES = ["active", "inactive", "locked"] as const;
const SYNCS = ["present", "pending", "failed", "vanished", "differs", "absent"] as const;
const SAYS = {
  filters: "people.filters",
  failed: "people.unlisted",
  old: "people.old_rows",
  none: ["people.none", "people.none_next"],
  unmatched: ["people.none_match", "people.none_match_next"],
} as const;
const EXPORT = { label: "groups.export", failed: "groups.export_failed" } as const;

export default function UsersPage({ models }: PageProps) {
  const creating = useSignal(false);
  const { param } = models.router;
  const { list, query } = useFiltered<UserPage>(models, {
    filters: filterRows(null, []),
    fetch: (query) => listUsers(models, query),
  });
  const page = valueOf(list.state.value);
  // The choice of a target stays, and keeps the focus, while the users of the target are fetched.
  const targets = useRef<readonly string[]>([]);
  targets.current = page?.targets ?? targets.current;
  const target = param("target");
  const selection = useListSelection(models, query);
  const reason = whyNot(models, "user_manager");
  const create = () => creating.value = reason === undefined;
  useShortcuts([{ keys: "c u", does: "people.create", needs: "user_manager", run: create }]);
  return (
    <ListPage
      models={models}
      title={t("frame.users")}
      says={SAYS}
      filters={filterRows(page, targets.current)}
      resource={list}
      actions={
        <>
          <ExportButton
            models={models}
            from="export/users"
            query={query}
            file="users.csv"
            says={EXPORT}
            reason={reason}
          />
          <a
            class="button"
            href={`/users/import${target === "" ? "" : `?target=${encodeURIComponent(target)}`}`}
          >
            <Symbol name="upload" />
            {t("frame.import")}
          </a>
          <Button kind="primary" icon="user-plus" reason={reason} onClick={create}>
            {t("people.create")}
          </Button>
        </>
      }
      begin={<Button reason={reason} onClick={create}>{t("people.create")}</Button>}
      rows={({ rows }) => rows}
      columns={columnsOf(page?.logsIn !== false)}
      keyOf={({ name }) => name}
      hrefOf={({ name }) => userHref(name, target)}
      selection={selection}
      note={({ rows, isCut, outside }) => (
        <>
          {isCut && rows.length > 0 && <Note tone="wait">{t("people.cut")}</Note>}
          {outside.length > 0 && <Outside names={outside} />}
        </>
      )}
    >
      {page !== null && (
        <BulkBar
          models={models}
          selection={selection}
          filters={{
            q: param("q"),
            status: param("status"),
            enrolled: param("enrolled"),
            backend: param("backend"),
            sync: param("sync"),
          }}
          target={target}
          total={page.total}
          onChanged={() => void list.reload()}
        />
      )}
      {creating.value && page !== null && (
        <CreateUserDialog
          models={models}
          page={page}
          onClose={() => creating.value = false}
        />
      )}
    </ListPage>
  );
}

/** Names with factors that are not in the directory: each with its page, which offers to create the user. */
function Outside({ names }: { names: readonly string[] }) {
  return (
    <Note tone="idle">
      {t("people.outside", { count: names.length })} {names.map((name, at) => (
        <span key={name}>
          {at > 0 && ", "}
          <a href={`${userHref(name)}#devices`}>
            <bdi>{name}</bdi>
          </a>
        </span>
      ))}
    </Note>
  );
}

/** What the list can be narrowed by; what only some targets have is offered once the page is known. */
function filterRows(page: UserPage | null, targets: readonly string[]): Filter[] {
  const backends = page?.backends.map(({ name }) => name) ?? [];
  return [
    { name: "q", label: t("people.search"), chip: t("frame.search"), by: "search" },
    choice({ name: "status", label: t("people.status"), options: STATUSES, text: true }),
    choice({
      name: "enrolled",
      label: t("people.enrolled"),
      options: page?.logsIn === false ? [] : ["yes", "no"],
      text: true,
    }),
    choice({ name: "backend", label: t("people.backend"), options: backends }),
    choice({
      name: "sync",
      label: t("people.sync"),
      options: backends.length === 0 ? [] : SYNCS,
      text: true,
    }),
    {
      ...choice({
        name: "target",
        label: t("people.target"),
        options: targets.length > 1 ? targets : [],
      }),
      narrows: false,
    },
  ];
}

interface Choice {
  readonly name: string;
  readonly label: string;
  /** None: there is nothing to choose. */
  readonly options: readonly string[];
  /** The options' words are rows such as `people.status_active`. */
  readonly text?: true;
}

function choice({ name, label, options, text }: Choice): Filter {
  return {
    name,
    label,
    options,
    every: `${label}: ${t("people.any")}`,
    ...(options.length > 0 ? { by: "choice" } : {}),
    ...(text === true ? { text: (option) => t(`people.${name}_${option}` as MessageKey) } : {}),
  };
}

function columnsOf(logsIn: boolean): Column<UserRow>[] {
  const login: Column<UserRow>[] = logsIn
    ? [{
      width: "150px",
      label: t("people.factors"),
      wideOnly: true,
      cell: ({ factors, unverified }) =>
        factors.length + unverified.length === 0 ? <span class="quiet">{t("frame.none")}</span> : (
          <>
            {factors.map(factorLabel).join(", ")}
            {unverified.length > 0 && (
              <span class="quiet">
                {factors.length > 0 ? ", " : ""}
                {unverified.map((kind) => t("people.unverified_factor", { factor: factorLabel(kind) })).join(
                  ", ",
                )}
              </span>
            )}
          </>
        ),
    }]
    : [];
  return [
    {
      label: t("people.name"),
      cell: ({ name }) => <bdi class="cut">{name}</bdi>,
    },
    {
      label: t("people.display_name"),
      wideOnly: true,
      cell: ({ displayName }) => <bdi class="cut" title={displayName}>{displayName}</bdi>,
    },
    {
      label: t("people.mail"),
      wideOnly: true,
      width: "18%",
      cell: ({ mail }) => <bdi class="mono cut" title={mail}>{mail}</bdi>,
    },
    {
      width: "124px",
      narrow: "116px",
      label: t("people.status"),
      cell: (row) => <Status words={userState(row)} />,
    },
    ...login,
    {
      width: "84px",
      label: t("frame.groups"),
      number: true,
      wideOnly: true,
      cell: ({ groups }) => groups,
    },
    {
      width: "130px",
      label: t("people.backends"),
      wideOnly: true,
      cell: ({ backends }) => <BackendMarks marks={backends} />,
    },
  ];
}
