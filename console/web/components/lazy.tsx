// Components whose code is loaded when they are first shown.

import { useSignal } from "@preact/signals";
import { type ComponentType, createElement } from "preact";
import { useEffect } from "preact/hooks";
import { t } from "../i18n/translate.ts";
import { Alert } from "./alert.tsx";

/**
 * Shows nothing until the code is loaded, and a message if that fails.
 *
 * @example const Palette = lazy(async () => (await import("./palette.tsx")).Palette);
 */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  return (props: P) => {
    const loaded = useSignal<{ readonly Component: ComponentType<P> } | "failed" | null>(null);
    useEffect(() => {
      load().then((Component) => loaded.value = { Component }, () => loaded.value = "failed");
    }, []);
    const now = loaded.value;
    if (now === "failed") return <Alert tone="bad" role="alert">{t("shell.page_unloaded")}</Alert>;
    return now === null ? null : createElement(now.Component, props);
  };
}
