// The Mail page: the state of the queue, waiting and failed mails, the test message, and the templates.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { MailAnswer, MailLanguage, MailList, MailRow, MailTest } from "../../../api/mail/mail_types.ts";
import { type Action, useAction } from "../../app/action.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { countText, spanText } from "../../app/format.ts";
import { readyValue, useInterval, useOlderPages, useResource } from "../../app/resource.ts";
import { userHref } from "../../app/routes.ts";
import { type Selection, useListSelection } from "../../app/selection.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert, EmptyState, ErrorAlert, ErrorState, Fetched } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { DataTable, type TableColumn } from "../../components/data_table.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { SelectField, TextField } from "../../components/field.tsx";
import { ConfirmDialog } from "../../components/form_dialog.tsx";
import { lazy } from "../../components/lazy.tsx";
import type { MenuItem } from "../../components/menu.tsx";
import { currentTab, PageBar, type Tab, Tabs } from "../../components/page_layout.tsx";
import { SelectionBar } from "../../components/selection_bar.tsx";
import { ClockTime, Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import {
  fetchMail,
  fetchMails,
  languageName,
  type MailState,
  removeMails,
  sendAgain,
  sendTestMail,
} from "./mail_calls.ts";

const Templates = lazy(async () => (await import("./templates.tsx")).TemplateList);

const REFRESH_MS = 5000;

export default function MailPage({ models }: PageProps) {
  const isTesting = useSignal(false);
  const mail = useResource(models, { fetch: () => fetchMail(models), inputs: [] });
  useInterval(REFRESH_MS, mail.reload);
  const status = readyValue(mail.state.value)?.status;
  const tabs: readonly Tab[] = [
    { hash: "waiting", label: t("mail.waiting"), ...(status === undefined ? {} : { count: status.waiting }) },
    { hash: "failed", label: t("mail.failed"), ...(status === undefined ? {} : { count: status.failed }) },
    { hash: "templates", label: t("mail.templates") },
  ];
  const current = currentTab(models, tabs);
  const off = status?.isConfigured === false ? t("mail.off") : undefined;
  return (
    <main class="page" id="page">
      <PageBar title={t("shell.mail")}>
        <Button
          icon="send"
          reason={permissionHint(models, "owner") ?? off}
          onClick={() => isTesting.value = true}
        >
          {t("mail.test")}
        </Button>
      </PageBar>
      <Fetched resource={mail} failed="mail.failed_load" old="mail.old" rows={3}>
        {(answer) => <QueueState models={models} answer={answer} />}
      </Fetched>
      <Tabs models={models} tabs={tabs} label={t("mail.parts")} />
      {current === "templates" ? <Templates models={models} /> : (
        <MailTable
          key={current}
          models={models}
          state={current === "failed" ? "failed" : "waiting"}
          total={current === "failed" ? status?.failed ?? 0 : status?.waiting ?? 0}
          onChange={mail.reload}
        />
      )}
      {isTesting.value && status !== undefined && (
        <TestMailDialog
          models={models}
          language={readyValue(mail.state.value)?.language ?? "en"}
          onClose={() => isTesting.value = false}
        />
      )}
    </main>
  );
}

function QueueState({ models, answer }: { models: Models; answer: MailAnswer }) {
  const { server, status: { lastProblem, lastSentMs, oldestMs, pausedUntilMs, waiting, failed } } = answer;
  if (server === null) {
    return (
      <div class="panel">
        <EmptyState title={t("mail.off")} next={t("mail.off_next")}>
          <a class="button" href="/settings/mail">{t("common.mail_settings")}</a>
        </EmptyState>
      </div>
    );
  }
  return (
    <section class="panel people-panel" aria-label={t("mail.state")}>
      {lastProblem !== null && (
        <Alert tone="bad" role="status">
          <strong>{t(`mail.problem_${lastProblem.code}`)}</strong>{" "}
          <bdi class="mono">{lastProblem.detail}</bdi> {pausedUntilMs !== null && (
            <>
              {t("mail.next_attempt")} <Time models={models} atMs={pausedUntilMs} />.
            </>
          )}
        </Alert>
      )}
      <dl class="facts">
        <dt>{t("mail.server")}</dt>
        <dd>
          <bdi class="mono">{`${server.host}:${server.port}`}</bdi>{" "}
          <span class="quiet">{t(`mail.security_${server.security}`)}</span>
        </dd>
        <dt>{t("common.sender")}</dt>
        <dd>
          <bdi>{server.from}</bdi>
        </dd>
        <dt>{t("mail.rate")}</dt>
        <dd>{t("mail.per_minute", { count: server.perMinute })}</dd>
        <dt>{t("mail.waiting")}</dt>
        <dd>
          {countText(waiting)}
          {oldestMs !== null && (
            <span class="quiet">
              {" "}
              {t("mail.oldest")} <Time models={models} atMs={oldestMs} />
            </span>
          )}
        </dd>
        <dt>{t("mail.failed")}</dt>
        <dd>{failed === 0 ? countText(failed) : <a href="/mail#failed">{countText(failed)}</a>}</dd>
        <dt>{t("common.last_sent")}</dt>
        <dd>
          {lastSentMs === null ? t("mail.never_sent") : <Time models={models} atMs={lastSentMs} />}
        </dd>
      </dl>
      <p class="quiet small">
        <a href="/settings/mail">{t("common.mail_settings")}</a>
      </p>
    </section>
  );
}

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

function MailTable({ models, state, total, onChange }: MailTableProps) {
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

interface TestMailProps {
  readonly models: Models;
  /** The language of the settings. */
  readonly language: MailLanguage;
  readonly onClose: () => void;
}

function TestMailDialog({ models, language, onClose }: TestMailProps) {
  const to = useSignal("");
  const chosen = useSignal<MailLanguage>(language);
  const result = useSignal<MailTest | null>(null);
  const action = useAction();
  const send = () =>
    action.run(async () => {
      result.value = null;
      result.value = await sendTestMail(models, { to: to.value.trim(), language: chosen.value });
    });
  return (
    <Dialog
      title={t("mail.test")}
      onClose={onClose}
      action={action}
      footer={
        <>
          <Button onClick={onClose}>{t("common.close")}</Button>
          <Button type="submit" form="test-mail" kind="primary" busy={action.busy.value}>
            {t("mail.test_send")}
          </Button>
        </>
      }
    >
      <form
        id="test-mail"
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <ErrorAlert of={action.fault} />
        {result.value !== null && <TestResult result={result.value} />}
        <TextField
          id="test-mail-to"
          label={t("mail.to")}
          text={to}
          input={{ type: "email", maxLength: 254, autofocus: true, required: true }}
        />
        <SelectField
          id="test-mail-language"
          label={t("common.language")}
          options={[{ value: "en", label: languageName("en") }, { value: "de", label: languageName("de") }]}
          value={chosen.value}
          onChoose={(value) => chosen.value = value === "de" ? "de" : "en"}
        />
      </form>
    </Dialog>
  );
}

function TestResult({ result: { ok, problem, detail, tookMs } }: { result: MailTest }) {
  return (
    <Alert tone={ok ? "ok" : "bad"} icon={ok ? "check" : "alert"} role="status">
      {problem === null ? t("mail.test_accepted") : t(`mail.problem_${problem}`)}{" "}
      {t("mail.test_took", { time: spanText(tookMs) })}
      {detail !== "" && (
        <div>
          <bdi class="mono small">{detail}</bdi>
        </div>
      )}
    </Alert>
  );
}
