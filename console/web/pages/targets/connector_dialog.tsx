// The dialog of a connector: what it is, how to reach it, and a test that reads its first users before anything is saved.

import { type Signal, useSignal } from "@preact/signals";
import type { ConfigFault } from "../../../api/target_settings/target_setting_routes.ts";
import { useAction } from "../../app/action.ts";
import type { Models } from "../../app/app_context.ts";
import { spanText } from "../../app/format.ts";
import { Alert, ErrorAlert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { Checkbox, Field, SelectField, TextAreaField, TextField } from "../../components/field.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { findMessage, language, t } from "../../i18n/translate.ts";
import { faultText, sentenceText } from "../settings/setting_problems.ts";
import {
  type Directory,
  type DirectorySaved,
  type OnDirectorySaved,
  saveDirectory,
  type TargetTest,
  testConnector,
} from "./directory_calls.ts";
import { testBackend } from "./target_calls.ts";
import {
  CONNECTOR_FIELDS,
  CONNECTOR_PRESETS,
  type ConnectorDraft,
  type ConnectorField,
  connectorFieldLabel,
  connectorPreset,
  connectorsOf,
  type ConnectorTable,
  fieldProblem,
  fieldsOf,
  freeName,
  nameProblem,
  PRESET_NAMES,
  type PresetName,
  toConnector,
  toConnectorDraft,
  withConnector,
} from "./directory_form.ts";
import type { InputHTMLAttributes } from "preact";
import type { MessageKey } from "../../i18n/catalogue.ts";

interface DialogProps {
  readonly models: Models;
  readonly directory: Directory;
  /** The connector to change; `null`: a new one. */
  readonly name: string | null;
  readonly onSaved: OnDirectorySaved;
  readonly onClose: () => void;
}

export function ConnectorDialog({ models, directory, name, onSaved, onClose }: DialogProps) {
  const stored = connectorsOf(directory.table).find(([one]) => one === name)?.[1];
  const preset = useSignal<PresetName>(stored === undefined ? "openldap" : connectorPreset(stored));
  const newName = useSignal(name ?? freeName(directory.table, CONNECTOR_PRESETS[preset.value].name));
  const draft = useSignal<ConnectorDraft>(toConnectorDraft(preset.value, stored));
  const problems = useSignal<ReadonlyMap<string, string>>(new Map());
  const connector = () => toConnector({ preset: preset.value, draft: draft.value }, stored);
  const choose = (next: PresetName) => {
    preset.value = next;
    newName.value = freeName(directory.table, CONNECTOR_PRESETS[next].name);
    draft.value = toConnectorDraft(next);
    problems.value = new Map();
  };
  /** Whether every field can be sent. */
  const isComplete = (): boolean => {
    const found = fieldsOf(preset.value).flatMap((field) => {
      const problem = fieldProblem(field, draft.value);
      return problem === null ? [] : [[field.name, problem] as const];
    });
    const taken = connectorsOf(directory.table).map(([one]) => one);
    const bad = name === null ? nameProblem(newName.value.trim(), taken) : null;
    problems.value = new Map(bad === null ? found : [["name", bad], ...found]);
    return problems.value.size === 0;
  };
  const showFaults = (refused: DirectorySaved) => {
    if (refused.kind !== "faults") return;
    problems.value = connectorProblems(refused.faults, {
      directory: directory.name,
      name: newName.value.trim(),
    });
  };
  const save = async () => {
    if (!isComplete()) return "stay" as const;
    const one = newName.value.trim();
    const table = withConnector(directory.table, { name: one, connector: connector() });
    const saved = await saveDirectory(models, directory, table);
    if (saved.kind === "faults") {
      showFaults(saved);
      return "stay" as const;
    }
    if (preset.value !== "store") await checkSaved(models, directory, one);
    return await onSaved(savedText(one, { isNew: name === null, preset: preset.value }), saved);
  };
  const otherProblem = problems.value.get("") ?? null;
  return (
    <FormDialog
      title={name === null ? t("targets.add_connector") : t("common.edit_name", { name })}
      submitLabel={name === null ? t("targets.add_connector") : t("targets.save_connector")}
      failureTitle={t("targets.not_saved")}
      onSubmit={save}
      onClose={onClose}
      wide
    >
      {otherProblem !== null && <Alert tone="bad" role="alert">{otherProblem}</Alert>}
      {name === null && (
        <NewConnector
          preset={preset.value}
          name={newName}
          problem={problems.value.get("name") ?? null}
          onChoose={choose}
        />
      )}
      <ConnectorFields
        preset={preset.value}
        draft={draft}
        problems={problems.value}
        stored={secretsOf(directory, name)}
      />
      {preset.value !== "store" && (
        <ConnectionTest
          key={preset.value}
          {...{ models, directory, draft, connector, isComplete }}
          onFaults={showFaults}
          name={name ?? newName.value.trim()}
        />
      )}
    </FormDialog>
  );
}

/** The page shows at once whether the connector works. The test on the page shows why not. */
async function checkSaved(models: Models, { name }: Directory, connector: string): Promise<void> {
  await testBackend(models, name, connector).catch(() => undefined);
}

function savedText(name: string, { isNew, preset }: { isNew: boolean; preset: PresetName }): string {
  const saved = t("targets.connector_saved", { name });
  return isNew && preset !== "store" ? `${saved} ${t("targets.connector_next")}` : saved;
}

interface NewProps {
  readonly preset: PresetName;
  readonly name: Signal<string>;
  readonly problem: string | null;
  readonly onChoose: (preset: PresetName) => void;
}

/** What only a new connector has: its type and its name. */
function NewConnector({ preset, name, problem, onChoose }: NewProps) {
  return (
    <>
      <SelectField
        id="connector-type"
        label={t("common.type")}
        hint={t(`targets.type_hint_${preset}`)}
        options={PRESET_NAMES.map((one) => ({ value: one, label: t(`targets.type_${one}`) }))}
        value={preset}
        onChoose={(next) => onChoose(next as PresetName)}
      />
      <TextField
        id="connector-name"
        label={t("common.name")}
        hint={t("targets.name_hint")}
        problem={problem}
        text={name}
        input={{ maxLength: 64, spellcheck: false, required: true }}
      />
    </>
  );
}

/** The names of the stored secrets of a connector. */
function secretsOf({ secrets }: Directory, name: string | null): readonly string[] {
  const prefix = `${name}.`;
  return name === null
    ? []
    : secrets.filter((one) => one.startsWith(prefix)).map((one) => one.slice(prefix.length));
}

/** The server's faults by field. Faults of other keys are under "". */
function connectorProblems(
  faults: readonly ConfigFault[],
  { directory, name }: { directory: string; name: string },
): ReadonlyMap<string, string> {
  const prefix = `targets.${directory}.backends.${name}.`;
  const names = new Set(Object.values(CONNECTOR_FIELDS).flat().map((field) => field.name));
  return new Map(faults.map((fault) => {
    const { key } = fault;
    const field = key.startsWith(prefix) ? key.slice(prefix.length).split(".", 1)[0] ?? "" : "";
    return names.has(field) ? [field, sentenceText(fault)] : ["", faultText(fault)];
  }));
}

interface TestProps {
  readonly models: Models;
  readonly directory: Directory;
  readonly name: string;
  readonly draft: Signal<ConnectorDraft>;
  readonly connector: () => ConnectorTable;
  readonly isComplete: () => boolean;
  /** The values cannot be tested. */
  readonly onFaults: (refused: DirectorySaved) => void;
}

function ConnectionTest({ models, directory, name, draft, connector, isComplete, onFaults }: TestProps) {
  const action = useAction();
  const result = useSignal<{ readonly of: ConnectorDraft; readonly test: TargetTest } | null>(null);
  // A result is for the values that were tested.
  const shown = result.value?.of === draft.value ? result.value.test : null;
  const run = () => {
    if (!isComplete()) return;
    const of = draft.value;
    return action.run(async () => {
      const test = await testConnector(models, directory, { name, connector: connector() });
      if ("kind" in test) onFaults(test);
      else result.value = { of, test };
    });
  };
  return (
    <section class="connector-test" aria-label={t("targets.test_title")}>
      <div class="people-actions">
        <Button busy={action.busy.value} onClick={run}>{t("targets.test_run")}</Button>
        <span class="quiet">{t("targets.test_why")}</span>
      </div>
      <ErrorAlert of={action.fault} />
      {shown !== null && <TestResult test={shown} />}
    </section>
  );
}

function TestResult({ test }: { test: TargetTest }) {
  const { ok, tookMs, users } = test;
  return (
    <>
      <Alert tone={ok ? "ok" : "bad"} icon={ok ? "check" : "alert"} role="status">
        {ok ? t("targets.test_ok", { time: spanText(tookMs) }) : <bdi>{testText(test)}</bdi>}
      </Alert>
      {ok && users.length === 0 && <p class="quiet">{t("targets.test_no_users")}</p>}
      {users.map(({ user, rows }) => (
        <details class="connect-more" key={user}>
          <summary>
            <bdi class="mono">{user}</bdi>
          </summary>
          <dl class="connect-facts">
            {rows.map((row) => (
              <div key={row.name}>
                <dt class="mono">{row.name}</dt>
                <dd class="mono">
                  <bdi>{row.values.join(", ")}</bdi>
                </dd>
              </div>
            ))}
          </dl>
        </details>
      ))}
    </>
  );
}

/** The server's English message has details. Other languages have a message for each code. */
function testText({ code, message }: TargetTest): string {
  return language.value === "en" ? message : t(`targets.trial_${code}`);
}

interface FieldsProps {
  readonly preset: PresetName;
  readonly draft: Signal<ConnectorDraft>;
  /** Why values cannot be saved, by the key of the field. */
  readonly problems: ReadonlyMap<string, string>;
  /** The secrets that are stored already. */
  readonly stored: readonly string[];
}

function ConnectorFields({ preset, draft, problems, stored }: FieldsProps) {
  const fields = fieldsOf(preset);
  const one = (field: ConnectorField) => (
    <OneField
      key={field.name}
      field={field}
      example={exampleOf(preset, field.name)}
      value={draft.value[field.name] ?? ""}
      problem={problems.get(field.name) ?? null}
      isStored={stored.includes(field.name)}
      onChange={(value) => draft.value = { ...draft.value, [field.name]: value }}
    />
  );
  const advanced = fields.filter(({ isAdvanced }) => isAdvanced);
  return (
    <>
      {fields.filter(({ isAdvanced }) => !isAdvanced).map(one)}
      {advanced.length > 0 && (
        <details
          class="connect-more"
          open={advanced.some(({ name }) => problems.has(name))}
        >
          <summary>{t("targets.advanced")}</summary>
          <div class="form">{advanced.map(one)}</div>
        </details>
      )}
    </>
  );
}

/** An example, or the default: never text that can be taken for a value. */
function placeholderOf(example: string, preset: ConnectorField["preset"]): string {
  if (example !== "") return t("common.example", { value: example });
  return preset === undefined || preset === "" ? "" : t("common.default_value", { value: String(preset) });
}

function exampleOf(preset: PresetName, name: string): string {
  const examples: Readonly<Record<string, string>> = CONNECTOR_PRESETS[preset].examples;
  return examples[name] ?? "";
}

interface OneProps {
  readonly field: ConnectorField;
  readonly example: string;
  readonly value: string | boolean;
  readonly problem: string | null;
  readonly isStored: boolean;
  readonly onChange: (value: string | boolean) => void;
}

function OneField({ field, example, value, problem, isStored, onChange }: OneProps) {
  const { name, type, isRequired, choices = [], preset } = field;
  const hint = findMessage(`targets.hint_${name}`) ?? undefined;
  const labelled = {
    id: `connector-${name}`,
    label: connectorFieldLabel(name),
    problem,
    ...(hint === undefined ? {} : { hint }),
  };
  if (typeof value === "boolean") {
    return (
      <Checkbox
        label={labelled.label}
        checked={value}
        onChange={onChange}
        {...(hint === undefined ? {} : { hint })}
      />
    );
  }
  if (type === "choice") {
    const options = choices.map((one) => ({ value: one, label: t(`targets.mode_${one}` as MessageKey) }));
    return <SelectField {...labelled} options={options} value={value} onChoose={onChange} />;
  }
  if (type === "lines" || type === "pairs") {
    return (
      <TextAreaField
        {...labelled}
        input={{
          rows: 3,
          spellcheck: false,
          autocomplete: "off",
          maxLength: 60_000,
          value,
          onInput: (event) => onChange(event.currentTarget.value),
        }}
      />
    );
  }
  const isSecret = type === "secret";
  return (
    <Field
      {...labelled}
      input={{
        type: isSecret ? "password" : "text",
        autocomplete: isSecret ? "new-password" : "off",
        spellcheck: false,
        autocapitalize: "off",
        maxLength: 1024,
        required: isRequired === true,
        placeholder: isStored ? t("targets.secret_stored") : placeholderOf(example, preset),
        inputMode: type === "number" ? "numeric" : "text",
        value,
        onInput: (event) => onChange(event.currentTarget.value),
      } as InputHTMLAttributes<HTMLInputElement>}
    />
  );
}
