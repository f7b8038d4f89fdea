// The bar of unsaved changes, and the review before they are saved: old and new values, warnings, and conflicts.

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { useAction } from "../../app/action.ts";
import { failureText, lastChangeText } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { Alert, ErrorAlert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { type DiffRow, DiffTable } from "../../components/diff_table.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { t } from "../../i18n/translate.ts";
import type { SettingsConflict } from "./setting_calls.ts";
import type { SettingsModel } from "./settings_model.ts";
import { type Setting, settingValueText } from "./setting_form.ts";
import { settingName } from "./setting_labels.ts";
import { sentenceText } from "./setting_problems.ts";
import { settingHref } from "./setting_topics.ts";

interface SaveBarProps {
  readonly models: Models;
  readonly model: SettingsModel;
}

export function SaveBar({ models, model }: SaveBarProps) {
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

interface Difference extends ReviewedDifference {
  readonly isReset: boolean;
}
type ReviewedDifference = NonNullable<SettingsModel["review"]["value"]>["diff"][number];

function diffRow(setting: Setting | undefined, { key, before, after, isReset }: Difference): DiffRow {
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
