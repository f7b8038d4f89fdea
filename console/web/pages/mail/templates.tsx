// The templates of mails: which ones were changed, and the editor.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { TemplatePreview, TemplateView } from "../../../api/mail/mail_types.ts";
import { useAction } from "../../app/action.ts";
import type { Models } from "../../app/app_context.ts";
import { useResource } from "../../app/resource.ts";
import { permissionHint } from "../../app/session_model.ts";
import { ErrorAlert, Fetched } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { DataTable, type TableColumn } from "../../components/data_table.tsx";
import { Field, TextAreaField } from "../../components/field.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import {
  fetchTemplates,
  languageName,
  previewTemplate,
  resetTemplate,
  saveTemplate,
  templateFieldProblem,
} from "./mail_calls.ts";

export function TemplateList({ models }: { models: Models }) {
  const list = useResource(models, { fetch: () => fetchTemplates(models), inputs: [] });
  const edited = useSignal<TemplateView | null>(null);
  return (
    <>
      <p class="quiet">{t("mail.templates_what")}</p>
      <Fetched resource={list} failed="mail.failed_load" old="mail.old" rows={8}>
        {({ templates }) => (
          <section class="panel">
            <DataTable
              label={t("mail.templates")}
              columns={columnsOf(models, (template) => edited.value = template)}
              rows={templates}
              keyOf={({ name, language }) => `${name}/${language}`}
              nameOf={templateTitle}
            />
          </section>
        )}
      </Fetched>
      {edited.value !== null && (
        <TemplateDialog
          models={models}
          template={edited.value}
          onSaved={(templates) => list.set({ templates: [...templates] })}
          onClose={() => edited.value = null}
        />
      )}
    </>
  );
}

const templateTitle = ({ name, language }: TemplateView) =>
  `${t(`mail.template_${name}`)} (${languageName(language)})`;

function columnsOf(models: Models, edit: (template: TemplateView) => void): TableColumn<TemplateView>[] {
  return [
    { label: t("mail.template"), min: 140, cell: ({ name }) => t(`mail.template_${name}`) },
    { label: t("common.language"), width: "100px", cell: ({ language }) => languageName(language) },
    {
      label: t("mail.subject"),
      width: "60%",
      min: 160,
      priority: 2,
      cell: ({ subject }) => <bdi class="cut" title={subject}>{subject}</bdi>,
    },
    {
      label: t("common.changed_at"),
      width: "150px",
      priority: 3,
      cell: ({ changed }) =>
        changed === null ? <span class="quiet">{t("mail.default_text")}</span> : (
          <span>
            <bdi>{changed.by}</bdi> <Time models={models} atMs={changed.atMs} />
          </span>
        ),
    },
    {
      label: t("common.edit"),
      width: "136px",
      isPinned: true,
      cell: (template) => (
        <Button
          small
          icon="pencil"
          of={templateTitle(template)}
          onClick={() => edit(template)}
        >
          {t("common.edit")}
        </Button>
      ),
    },
  ];
}

interface TemplateDialogProps {
  readonly models: Models;
  readonly template: TemplateView;
  readonly onSaved: (templates: readonly TemplateView[]) => void;
  readonly onClose: () => void;
}

const PREVIEW_AFTER_MS = 300;

function TemplateDialog({ models, template, onSaved, onClose }: TemplateDialogProps) {
  const { name, language, changed } = template;
  const subject = useSignal(template.subject);
  const body = useSignal(template.body);
  const preview = useSignal<TemplatePreview | null>(null);
  const reason = permissionHint(models, "owner");
  const isOwner = reason === undefined;
  useEffect(() => {
    if (!isOwner) return;
    const draft = { name, language, subject: subject.value, body: body.value };
    const show = (): void =>
      void previewTemplate(models, draft).then(
        (answer) => preview.value = answer,
        () => preview.value = null,
      );
    const timer = setTimeout(show, PREVIEW_AFTER_MS);
    return () => clearTimeout(timer);
  }, [subject.value, body.value, isOwner]);
  const problems = preview.value?.problems ?? [];
  const finish = (templates: readonly TemplateView[]) => {
    onSaved(templates);
    onClose();
  };
  return (
    <FormDialog
      title={`${t(`mail.template_${name}`)} (${languageName(language)})`}
      submitLabel={t("common.save")}
      wide
      reason={reason ?? (problems.length > 0 ? "" : undefined)}
      onSubmit={async () => {
        const draft = { name, language, subject: subject.value, body: body.value };
        onSaved((await saveTemplate(models, draft)).templates);
        models.toasts.show(t("mail.template_saved"));
      }}
      onClose={onClose}
    >
      <Field
        id="template-subject"
        label={t("mail.subject")}
        problem={templateFieldProblem(problems, "subject")}
        input={{
          value: subject.value,
          maxLength: 200,
          autocomplete: "off",
          readOnly: !isOwner,
          onInput: (event) => subject.value = event.currentTarget.value,
        }}
      />
      <TextAreaField
        id="template-body"
        label={t("mail.text")}
        hint={t("mail.text_hint")}
        problem={templateFieldProblem(problems, "body")}
        input={{
          value: body.value,
          maxLength: 8000,
          rows: 12,
          readOnly: !isOwner,
          onInput: (event) => body.value = event.currentTarget.value,
        }}
      />
      <Placeholders of={template} />
      {preview.value !== null && <Preview preview={preview.value} />}
      {changed !== null && <ResetButton {...{ models, template, reason }} onReset={finish} />}
    </FormDialog>
  );
}

function Placeholders({ of: { placeholders, required } }: { of: TemplateView }) {
  return (
    <div class="field">
      <span class="fixed-label">{t("mail.placeholders")}</span>
      <p class="small">
        {placeholders.map((one) => (
          <span key={one}>
            <code>{`{{${one}}}`}</code>
            {required.includes(one) && <span class="quiet">{` ${t("mail.required")}`}</span>}
            {" "}
          </span>
        ))}
      </p>
    </div>
  );
}

interface ResetProps extends Pick<TemplateDialogProps, "models" | "template"> {
  readonly reason: string | undefined;
  readonly onReset: (templates: readonly TemplateView[]) => void;
}

function ResetButton({ models, template: { name, language }, reason, onReset }: ResetProps) {
  const action = useAction();
  return (
    <>
      <ErrorAlert of={action.fault} />
      <Button
        busy={action.busy.value}
        reason={reason}
        onClick={() =>
          action.run(async () => {
            const { templates } = await resetTemplate(models, { name, language });
            models.toasts.show(t("mail.template_restored"));
            onReset(templates);
          })}
      >
        {t("mail.restore_default")}
      </Button>
    </>
  );
}

function Preview({ preview: { subject, text } }: { preview: TemplatePreview }) {
  return (
    <section class="mail-preview" aria-label={t("mail.preview")}>
      <h3>{t("mail.preview")}</h3>
      <p>
        <strong>{subject}</strong>
      </p>
      <pre tabIndex={0} role="group" aria-label={t("mail.preview")}>{text}</pre>
    </section>
  );
}
