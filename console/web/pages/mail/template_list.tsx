// The templates of mails: which ones were changed, and the editor.

import { useSignal } from "@preact/signals";
import type { TemplateView } from "../../../api/mail/mail_types.ts";
import type { Models } from "../../app/app_context.ts";
import { useResource } from "../../app/resource.ts";
import { Fetched } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { DataTable, type TableColumn } from "../../components/data_table.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../i18n/translate.ts";
import { fetchTemplates } from "./mail_calls.ts";
import { TemplateDialog } from "./template_dialog.tsx";
import { languageName } from "./template_text.ts";

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
