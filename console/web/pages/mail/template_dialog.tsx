// The editor of a template, with its placeholders and a preview.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { TemplatePreview, TemplateView } from "../../../api/mail/mail_types.ts";
import type { Models } from "../../app/app_context.ts";
import { permissionHint } from "../../app/session_model.ts";
import { useAction } from "../../app/action.ts";
import { ErrorAlert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { Field, TextAreaField } from "../../components/field.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { t } from "../../i18n/translate.ts";
import { previewTemplate, resetTemplate, saveTemplate } from "./mail_calls.ts";
import { languageName, templateFieldProblem } from "./template_text.ts";

interface TemplateDialogProps {
  readonly models: Models;
  readonly template: TemplateView;
  readonly onSaved: (templates: readonly TemplateView[]) => void;
  readonly onClose: () => void;
}

const PREVIEW_AFTER_MS = 300;

export function TemplateDialog({ models, template, onSaved, onClose }: TemplateDialogProps) {
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
