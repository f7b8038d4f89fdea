// The Settings page: forms by topic, a search over all settings, and a bar of unsaved changes with the
// review before they are saved: old and new values, warnings, and conflicts.

import { useEffect, useMemo } from "preact/hooks";
import type { SettingDiff, SettingsAnswer, SettingTest } from "../../../api/settings/setting_routes.ts";
import type { Models, PageProps } from "../../app/app_context.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Alert, EmptyState, ErrorAlert, Fetched } from "../../components/alert.tsx";
import { UnsavedGuard } from "../../components/dialog.tsx";
import { lazy } from "../../components/lazy.tsx";
import { SearchBox } from "../../components/search_box.tsx";
import { PageBar, Panel } from "../../components/page_layout.tsx";
import { language, t } from "../../i18n/translate.ts";
import {
  type ServiceName,
  settingCalls,
  type SettingsConflict,
  testService,
  toSaveAnswer,
} from "./setting_calls.ts";
import { SettingsModel } from "./settings_model.ts";
import { SettingField } from "./setting_field.tsx";
import { groupLabel, isSettingFound, isUsed, type Setting, settingValueText } from "./setting_form.ts";
import {
  settingHref,
  settingTopic,
  TOPIC_NAMES,
  topicHref,
  topicLabel,
  type TopicName,
  topicOf,
} from "./setting_topics.ts";
import { useSignal } from "@preact/signals";
import { ApiFailure, failureText, lastChangeText } from "../../app/api_client.ts";
import { useAction } from "../../app/action.ts";
import { spanText } from "../../app/format.ts";
import { Button } from "../../components/button.tsx";
import { TextField } from "../../components/field.tsx";
import type { ComponentChildren } from "preact";
import { type DiffRow, DiffTable } from "../../components/diff_table.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { sentenceText, settingName } from "./setting_problems.ts";

// Most topics show none of these.
const About = lazy(async () => (await import("./fixed_panels.tsx")).About);
const Appearance = lazy(async () => (await import("./fixed_panels.tsx")).Appearance);
const MailProviders = lazy(async () => (await import("./fixed_panels.tsx")).MailProviders);
const Retention = lazy(async () => (await import("./fixed_panels.tsx")).Retention);
const SignInRules = lazy(async () => (await import("./fixed_panels.tsx")).SignInRules);

/** The draft of each console: it outlives a change of the topic, which is another page for the router. */
const settingsModels = new WeakMap<Models, SettingsModel>();

function modelOf(models: Models): SettingsModel {
  const known = settingsModels.get(models);
  if (known !== undefined) return known;
  const model = new SettingsModel({ session: models.session, calls: settingCalls(models) });
  settingsModels.set(models, model);
  return model;
}

export default function SettingsPage({ models, params }: PageProps) {
  const { router } = models;
  const model = useMemo(() => modelOf(models), [models]);
  const topic = topicOf(params.topic ?? "", router.hash.value);
  const search = router.param("q");
  useEffect(() => void model.open(), [model]);
  return (
    <main class="page" id="page">
      <PageBar title={t("shell.settings")}>
        <SearchBox models={models} label={t("settings.search")} />
      </PageBar>
      <UnsavedGuard
        router={router}
        isDirty={model.edited.value.length > 0}
        within="/settings"
        onDiscard={() => model.discard()}
      />
      <div class="settings">
        <Topics models={models} model={model} current={search === "" ? topic : null} />
        <div class="setting-topic">
          <Fetched resource={model.page} failed="settings.failed" old="settings.old" rows={8}>
            {(answer) =>
              search === ""
                ? <Topic key={topic} {...{ models, model, answer, topic }} />
                : <Found {...{ models, model, answer, search }} />}
          </Fetched>
          <SaveBar models={models} model={model} />
        </div>
      </div>
    </main>
  );
}

interface TopicsProps {
  readonly models: Models;
  readonly model: SettingsModel;
  /** `null` while a search is shown. */
  readonly current: TopicName | null;
}

/** Links to the topics; on small screens a list to choose from. */
function Topics({ models, model, current }: TopicsProps) {
  const edited = model.edited.value.map(settingTopic);
  const labelOf = (topic: TopicName) => {
    const count = edited.filter((one) => one === topic).length;
    return count === 0 ? t(topicLabel(topic)) : `${t(topicLabel(topic))} (${count})`;
  };
  return (
    <nav class="setting-topics" aria-label={t("settings.topics")}>
      <ul>
        {TOPIC_NAMES.map((topic) => (
          <li key={topic}>
            <a href={topicHref(topic)} aria-current={topic === current ? "true" : undefined}>
              {labelOf(topic)}
            </a>
          </li>
        ))}
      </ul>
      <select
        class="input"
        aria-label={t("settings.topics")}
        value={current ?? ""}
        onChange={(event) => models.router.go(topicHref(event.currentTarget.value as TopicName))}
      >
        {current === null && <option value="">{t("settings.search_results")}</option>}
        {TOPIC_NAMES.map((topic) => <option key={topic} value={topic}>{labelOf(topic)}</option>)}
      </select>
    </nav>
  );
}

interface TopicProps {
  readonly models: Models;
  readonly model: SettingsModel;
  readonly answer: SettingsAnswer;
  readonly topic: TopicName;
}

function Topic({ models, model, answer, topic }: TopicProps) {
  const hash = models.router.hash.value;
  useEffect(() => {
    if (hash.includes(".")) focusSetting(hash);
  }, [hash]);
  const form = { settings: answer.settings, draft: model.draft.value };
  const rows = answer.settings
    .filter((one) => settingTopic(one) === topic)
    .filter((one) => one.key === hash || model.problems.value.has(one.key) || isUsed(one, form))
    .toSorted(editableFirst);
  const service = TOPIC_SERVICES[topic];
  return (
    <>
      {rows.length > 0 && <OwnerOnly models={models} />}
      {rows.length > 0 && (
        <SettingGroups
          {...{ models, model, rows }}
          file={answer.file}
          title={t(topicLabel(topic))}
        />
      )}
      {service !== undefined && <ServiceTest key={service} {...{ models, model, service }} />}
      {topic === "radius" && (
        <p>
          {t("settings.per_client")} <a href="/clients">{t("shell.clients")}</a>
        </p>
      )}
      {topic === "mail" && <MailProviders />}
      {topic === "console" && <SignInRules models={models} answer={answer} />}
      {topic === "system" && <Retention answer={answer} />}
      {topic === "appearance" && <Appearance models={models} />}
      {topic === "about" && <About models={models} answer={answer} />}
    </>
  );
}

/** What only the settings file can change comes last. */
function editableFirst(a: Setting, b: Setting): number {
  return Number(a.locked === "restart") - Number(b.locked === "restart");
}

/** Scrolls to the setting of a link and focuses its control. */
function focusSetting(key: string): void {
  const row = document.getElementById(key);
  row?.scrollIntoView({ block: "center" });
  row?.querySelector<HTMLElement>("input, select, textarea, button")?.focus({ preventScroll: true });
}

function OwnerOnly({ models }: { models: Models }) {
  const reason = permissionHint(models, "owner");
  return reason === undefined ? null : <Alert tone="idle">{reason}</Alert>;
}

interface GroupsProps {
  readonly models: Models;
  readonly model: SettingsModel;
  readonly rows: readonly Setting[];
  readonly file: string | null;
  readonly title: string;
}

/** The settings of a topic, with a heading for each table of the settings file if there are several. */
function SettingGroups({ models, model, rows, file, title }: GroupsProps) {
  const labels = [...new Set(rows.map(groupLabel))];
  const isReadOnly = permissionHint(models, "owner") !== undefined;
  return (
    <section class="panel setting-panel" aria-label={title}>
      <h2>{title}</h2>
      {labels.map((label) => (
        <div class="setting-group" key={label ?? ""}>
          {labels.length > 1 && label !== null && label !== title && <h3>{label}</h3>}
          {rows.filter((row) => groupLabel(row) === label).map((setting) => (
            <SettingField key={setting.key} {...{ models, model, setting, file, isReadOnly }} />
          ))}
        </div>
      ))}
    </section>
  );
}

interface FoundProps extends Omit<TopicProps, "topic"> {
  readonly search: string;
}

/** The settings of all topics that a search finds. */
function Found({ models, model, answer, search }: FoundProps) {
  const found = answer.settings.filter((one) => isSettingFound(one, search));
  if (found.length === 0) {
    return (
      <EmptyState
        title={t("settings.none_match", { text: search })}
        next={t("settings.none_match_next")}
        onClear={() => models.router.setParams({ q: "" })}
      />
    );
  }
  return (
    <>
      <p class="quiet" role="status">{t("settings.found", { count: found.length })}</p>
      <OwnerOnly models={models} />
      {TOPIC_NAMES.map((topic) => {
        const rows = found.filter((one) => settingTopic(one) === topic);
        return rows.length > 0 && (
          <SettingGroups
            key={topic}
            {...{ models, model, rows }}
            file={answer.file}
            title={t(topicLabel(topic))}
          />
        );
      })}
    </>
  );
}

/** The service of a topic. */
const TOPIC_SERVICES: Readonly<Partial<Record<TopicName, ServiceName>>> = {
  second_factor: "second_factor",
  telephony: "telephony",
  mail: "mail",
  console: "oidc",
};

interface ServiceTestProps {
  readonly models: Models;
  readonly model: SettingsModel;
  readonly service: ServiceName;
}

function ServiceTest({ models, model, service }: ServiceTestProps) {
  const action = useAction();
  const number = useSignal("");
  const result = useSignal<{ readonly of: string; readonly result: SettingTest } | null>(null);
  // A result is for the values that were tested.
  const tested = JSON.stringify([model.edited.value.map(({ key }) => key), model.changes(), number.value]);
  const shown = result.value?.of === tested ? result.value.result : null;
  const run = () =>
    action.run(async () => {
      const to = number.value.trim();
      const changes = model.changes() as Parameters<typeof testService>[2]["changes"];
      const json = { changes, ...(to === "" ? {} : { to }) };
      try {
        result.value = { of: tested, result: await testService(models, service, json) };
      } catch (fault) {
        const refused = toSaveAnswer(fault);
        if (refused?.kind !== "faults") throw fault;
        model.showFaults(refused.faults);
        throw new ApiFailure("bad_settings", { message: t("settings.test_bad_values") });
      }
    });
  return (
    <Panel title={t(`settings.test_${service}`)}>
      <p class="quiet">{t("settings.test_why")}</p>
      {service === "mail" && (
        <TextField
          id="settings-test-address"
          label={t("settings.test_address")}
          hint={t("settings.test_address_hint")}
          text={number}
          input={{ type: "email", maxLength: 254 }}
        />
      )}
      {service === "telephony" && (
        <TextField
          id="settings-test-number"
          label={t("settings.test_number")}
          hint={t("settings.test_number_hint")}
          text={number}
          input={{ type: "tel", maxLength: 16 }}
        />
      )}
      <ErrorAlert of={action.fault} />
      {shown !== null && (
        <Alert tone={shown.ok ? "ok" : "bad"} icon={shown.ok ? "check" : "alert"} role="status">
          {testText(shown)} {t("settings.test_took", { time: spanText(shown.tookMs) })}
        </Alert>
      )}
      <Button busy={action.busy.value} reason={permissionHint(models, "owner")} onClick={run}>
        {t("settings.test_run")}
      </Button>
    </Panel>
  );
}

/** The server's English message has details. Other languages have a message for each code. */
function testText({ code, message, detail }: SettingTest): string {
  if (language.value === "en") return message;
  return detail === "" ? t(`settings.trial_${code}`) : `${t(`settings.trial_${code}`)} (${detail})`;
}

interface SaveBarProps {
  readonly models: Models;
  readonly model: SettingsModel;
}

function SaveBar({ models, model }: SaveBarProps) {
  const action = useAction();
  const count = model.edited.value.length;
  const problems = model.problems.value.size;
  const show = (key: string) => {
    const setting = model.settings().find((one) => one.key === key);
    if (setting !== undefined) models.router.go(settingHref(setting));
  };
  const review = () =>
    action.run(async () => {
      const bad = await models.session.whileSignedIn(() => model.startReview());
      if (bad !== null) show(bad);
    });
  useEffect(() => {
    // The bar appears with the first change, and must not cover the field that it is made in (WCAG 2.4.11).
    if (count > 0) document.activeElement?.scrollIntoView({ block: "nearest" });
  }, [count > 0]);
  if (count === 0) return null;
  return (
    <>
      <div class="selection-bar setting-bar" role="region" aria-label={t("settings.unsaved_bar")}>
        <strong role="status">{t("settings.unsaved_count", { count })}</strong>
        {problems > 0 && <span class="problem">{t("settings.problems", { count: problems })}</span>}
        <div class="end">
          <Button onClick={() => model.discard()}>{t("common.discard")}</Button>
          <Button kind="primary" busy={action.busy.value} onClick={review}>
            {t("settings.review")}
          </Button>
        </div>
        <ErrorAlert of={action.fault} />
        {model.others.value.map((text) => <span key={text} class="problem" role="alert">{text}</span>)}
      </div>
      {model.review.value !== null && <Review models={models} model={model} onFault={show} />}
    </>
  );
}

interface ReviewProps extends SaveBarProps {
  /** Shows the field of a value that cannot be saved. */
  readonly onFault: (key: string) => void;
}

function Review({ models, model, onFault }: ReviewProps) {
  const review = model.review.value;
  const conflicts = model.conflicts.value;
  if (review === null) return null;
  const changes = model.changes();
  const settings = new Map(model.settings().map((one) => [one.key, one]));
  const undo = async (auditId: string) => {
    try {
      await models.session.whileSignedIn(() => model.undo(auditId));
      models.toasts.show(t("common.undone"), { tone: "ok" });
    } catch (fault) {
      models.toasts.show(`${t("common.not_undone")} ${failureText(fault)}`, { tone: "bad" });
    }
  };
  const save = async () => {
    const outcome = await models.session.whileSignedIn(() => model.save());
    if (outcome.kind === "conflict") return "stay";
    if (outcome.kind === "faults") {
      if (outcome.first !== null) onFault(outcome.first);
      return;
    }
    const { auditId, count } = outcome;
    models.toasts.show(t("settings.saved", { count }), {
      tone: "ok",
      ...(auditId === null ? {} : { undo: () => undo(auditId) }),
    });
  };
  return (
    <FormDialog
      title={t(conflicts.length > 0 ? "settings.conflict_title" : "settings.review_title", {
        count: review.diff.length,
      })}
      submitLabel={t("settings.save", { count: review.diff.length })}
      cancelLabel={t("common.keep_editing")}
      failureTitle={t("settings.not_saved")}
      reason={conflicts.length > 0
        ? t("settings.conflict_open")
        : review.diff.length === 0
        ? t("settings.nothing_changed")
        : undefined}
      onSubmit={save}
      onClose={() => model.closeReview()}
      wide
    >
      {conflicts.map((conflict) => (
        <ConflictChoice
          key={conflict.key}
          {...{ models, model, conflict }}
          setting={settings.get(conflict.key)}
        />
      ))}
      {review.diff.length === 0 ? <p>{t("settings.nothing_changed")}</p> : (
        <DiffTable
          label={t("settings.changes")}
          rows={review.diff.map((one) =>
            diffRow(settings.get(one.key), { ...one, isReset: changes[one.key] === null })
          )}
        />
      )}
      {review.warnings.map((warning) => (
        <Warning key={warning.key} setting={settings.get(warning.key)}>{sentenceText(warning)}</Warning>
      ))}
    </FormDialog>
  );
}

function diffRow(
  setting: Setting | undefined,
  { key, before, after, isReset }: SettingDiff & { readonly isReset: boolean },
): DiffRow {
  if (setting === undefined) return { name: key, now: String(before), after: String(after) };
  const name = settingName(setting);
  if (setting.isSecret) {
    const now = setting.isSet ? t("common.is_set") : null;
    return { name, now, after: isReset ? null : t("settings.secret_new") };
  }
  return {
    name,
    now: settingValueText(setting, before),
    after: settingValueText(setting, after),
    ...(isReset ? { note: t("settings.note_default") } : {}),
  };
}

function Warning({ setting, children }: { setting: Setting | undefined; children: ComponentChildren }) {
  return (
    <Alert tone="wait" role="status">
      {setting !== undefined && <strong>{settingName(setting)}:</strong>} {children}
    </Alert>
  );
}

interface ConflictProps extends SaveBarProps {
  readonly conflict: SettingsConflict;
  readonly setting: Setting | undefined;
}

/** Another administrator changed the same setting: one of the two values must go. */
function ConflictChoice({ models, model, conflict, setting }: ConflictProps) {
  const action = useAction();
  if (setting === undefined) return null;
  const resolve = (keep: "mine" | "theirs") =>
    action.run(() => models.session.whileSignedIn(() => model.resolve(conflict.key, keep)));
  const { by, atMs, isOwn = false } = conflict;
  const theirs = setting.isSecret ? null : settingValueText(setting, setting.value);
  return (
    <Alert tone="wait" role="alert">
      <strong>{settingName(setting)}:</strong> {lastChangeText({ actor: by, atMs, isOwn })}{" "}
      {!setting.isSecret && t("settings.conflict_value", { value: theirs ?? t("common.none") })}
      <ErrorAlert of={action.fault} />
      <span class="setting-conflict">
        <Button small of={settingName(setting)} onClick={() => resolve("theirs")}>
          {t("settings.keep_theirs")}
        </Button>
        <Button small of={settingName(setting)} onClick={() => resolve("mine")}>
          {t("settings.keep_mine")}
        </Button>
      </span>
    </Alert>
  );
}
