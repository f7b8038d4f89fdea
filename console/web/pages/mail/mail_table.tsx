// The waiting or failed mails, with "Send again" and "Remove".

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { MailList, MailRow } from "../../../api/mail/mail_types.ts";
import { type Action, useAction } from "../../app/action.ts";
import type { Models } from "../../app/app_context.ts";
import { useOlderPages, useResource } from "../../app/resource.ts";
import { userHref } from "../../app/routes.ts";
import { type Selection, useListSelection } from "../../app/selection.ts";
import { permissionHint } from "../../app/session_model.ts";
import { EmptyState, ErrorAlert, ErrorState, Fetched } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { DataTable, type TableColumn } from "../../components/data_table.tsx";
import { ConfirmDialog } from "../../components/form_dialog.tsx";
import type { MenuItem } from "../../components/menu.tsx";
import { SelectionBar } from "../../components/selection_bar.tsx";
import { ClockTime, Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { fetchMails, type MailState, removeMails, sendAgain } from "./mail_calls.ts";

/** One request changes at most this many mails. */
const MAX_AT_ONCE = 100;

interface MailTableProps {
  readonly models: Models;
  readonly state: MailState;
  /** The number of mails in this state. When it changes, the list is read again. */
  readonly total: number;
  /** The queue changed. */
  readonly onChange: () => Promise<void>;
}

const keyOf = ({ id, about }: MailRow) => `${id} ${about}`;

export function MailTable({ models, state, total, onChange }: MailTableProps) {
  const list = useResource(models, { fetch: () => fetchMails(models, state), inputs: [total] });
  const behind = useOlderPages<MailList>(models);
  const selection = useListSelection(models, { state });
  const removing = useSignal<readonly MailRow[]>([]);
  const action = useAction();
  useEffect(() => selection.clear(), [state]);
  const changed = async () => {
    selection.clear();
    await Promise.all([list.reload(), onChange()]);
  };
  const itemsOf = actionsFor({ models, state, action, changed, remove: (rows) => removing.value = rows });
  return (
    <Fetched resource={list} failed="mail.failed_load" old="mail.old" rows={4}>
      {(first) => {
        const { pages, problem } = behind.olderPages(first);
        const rows = [first, ...pages].flatMap((page) => page.rows);
        const chosen = rows.filter((row) => selection.has(keyOf(row))).slice(0, MAX_AT_ONCE);
        const { next } = pages.at(-1) ?? first;
        return (
          <>
            <ErrorAlert of={action.fault} />
            <Rows {...{ models, state, rows, selection, itemsOf }} isBusy={list.busy.value} />
            {problem !== null && <ErrorState title={t("mail.failed_load")}>{problem}</ErrorState>}
            {next !== null && (
              <div class="pager">
                <Button
                  disabled={behind.isBusy()}
                  onClick={() => behind.loadMore(first, (after) => fetchMails(models, state, after))}
                >
                  {t("common.show_more")}
                </Button>
              </div>
            )}
            <div class="bulk-foot">
              <SelectionBar selection={selection} total={null} actions={itemsOf(chosen)} />
            </div>
            {removing.value.length > 0 && (
              <RemoveDialog
                {...{ models, state }}
                rows={removing.value}
                onRemoved={changed}
                onClose={() => removing.value = []}
              />
            )}
          </>
        );
      }}
    </Fetched>
  );
}

interface ActionDeps {
  readonly models: Models;
  readonly state: MailState;
  readonly action: Action;
  readonly changed: () => Promise<void>;
  readonly remove: (rows: readonly MailRow[]) => void;
}

/** The actions on one or more mails. */
function actionsFor({ models, state, action, changed, remove }: ActionDeps) {
  const reason = permissionHint(models, "operator") ?? (action.busy.value ? t("common.working") : undefined);
  const again = (rows: readonly MailRow[]) =>
    action.run(async () => {
      const { sent } = await sendAgain(models, rows);
      models.toasts.show(t("mail.queued_again", { count: sent }));
      await changed();
    });
  return (rows: readonly MailRow[]): MenuItem[] => {
    const expired = rows.some(({ canSend }) => canSend) ? undefined : t("mail.expired_why");
    const send = { label: t("mail.send_again"), reason: reason ?? expired, run: () => void again(rows) };
    const removal = { label: t("common.remove"), isBad: true, reason, run: () => remove(rows) };
    return state === "failed" ? [send, removal] : [removal];
  };
}

interface RowsProps {
  readonly models: Models;
  readonly state: MailState;
  readonly rows: readonly MailRow[];
  readonly selection: Selection;
  readonly itemsOf: (rows: readonly MailRow[]) => MenuItem[];
  readonly isBusy: boolean;
}

function Rows({ models, state, rows, selection, itemsOf, isBusy }: RowsProps) {
  if (rows.length === 0) {
    return <EmptyState title={t(`mail.none_${state}`)} next={t(`mail.none_${state}_next`)} />;
  }
  return (
    <section class="panel">
      <DataTable
        label={t(state === "failed" ? "mail.failed" : "mail.waiting")}
        columns={columnsOf(models, state)}
        rows={rows}
        keyOf={keyOf}
        days={{ timeOf: ({ queuedMs }) => queuedMs, nowMs: models.clock.nowMs.peek() }}
        nameOf={({ to, subjectOf }) => to ?? subjectOf}
        actionsOf={(row) => itemsOf([row])}
        selection={selection}
        busy={isBusy}
      />
    </section>
  );
}

interface RemoveProps {
  readonly models: Models;
  readonly state: MailState;
  readonly rows: readonly MailRow[];
  readonly onRemoved: () => Promise<void>;
  readonly onClose: () => void;
}

function RemoveDialog({ models, state, rows, onRemoved, onClose }: RemoveProps) {
  return (
    <ConfirmDialog
      title={t("mail.remove_title", { count: rows.length })}
      submitLabel={t("common.remove")}
      count={rows.length}
      onConfirm={async () => {
        const { removed } = await removeMails(models, { state, rows });
        models.toasts.show(t("mail.removed", { count: removed }));
        await onRemoved();
      }}
      onClose={onClose}
    >
      <p>{t("mail.remove_what")}</p>
    </ConfirmDialog>
  );
}

function columnsOf(models: Models, state: MailState): TableColumn<MailRow>[] {
  return [
    {
      label: t("mail.to"),
      min: 180,
      cell: ({ to }) =>
        to === null
          ? <span class="quiet">{t("mail.to_unreadable")}</span>
          : <bdi class="cut" title={to}>{to}</bdi>,
    },
    {
      label: t("mail.template"),
      min: 120,
      cell: ({ template }) => t(`mail.template_${template}`),
    },
    {
      label: t("mail.about"),
      min: 120,
      priority: 2,
      cell: ({ subjectOf }) => <About of={subjectOf} />,
    },
    {
      label: t("mail.queued"),
      width: "92px",
      cell: ({ queuedMs }) => <ClockTime atMs={queuedMs} />,
    },
    {
      label: state === "failed" ? t("common.reason") : t("mail.last_attempt"),
      width: "45%",
      min: 200,
      cell: (row) => <Reason models={models} row={row} />,
    },
  ];
}

function Reason({ models, row: { state, problem, attempts, nextMs } }: { models: Models; row: MailRow }) {
  return (
    <span class="wrap">
      {problem !== null && t(`mail.problem_${problem.code}`)}
      {problem !== null && problem.detail !== "" && (
        <span class="small quiet mail-detail">
          <bdi class="mono">{problem.detail}</bdi>
        </span>
      )}
      {state === "waiting" && attempts > 0 && (
        <span class="small quiet mail-detail">
          {t("mail.attempts", { count: attempts })} {t("mail.next_attempt")}{" "}
          <Time models={models} atMs={nextMs} />
        </span>
      )}
    </span>
  );
}

/** A user has a page of its own. */
function About({ of }: { of: string }) {
  if (!of.startsWith("user:")) return <bdi class="cut" title={of}>{of}</bdi>;
  const name = of.slice("user:".length);
  return (
    <a href={userHref(name)}>
      <bdi class="cut" title={name}>{name}</bdi>
    </a>
  );
}
