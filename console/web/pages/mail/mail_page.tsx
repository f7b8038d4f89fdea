// The Mail page: the state of the queue, waiting and failed mails, the test message, and the templates.

import { useSignal } from "@preact/signals";
import type { MailAnswer } from "../../../api/mail/mail_types.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { countText } from "../../app/format.ts";
import { readyValue, useInterval, useResource } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert, EmptyState, Fetched } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { lazy } from "../../components/lazy.tsx";
import { currentTab, PageBar, type Tab, Tabs } from "../../components/page_layout.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { fetchMail } from "./mail_calls.ts";
import { MailTable } from "./mail_table.tsx";
import { TestMailDialog } from "./test_mail.tsx";

const Templates = lazy(async () => (await import("./template_list.tsx")).TemplateList);

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
