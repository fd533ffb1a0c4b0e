/** Lumino as far as our widgets meet it: a test says when they are attached, shown, hidden. */
import type { WidgetClass } from "../../src/lab/jupyterlab";

class FakeWidget {
  id = "";
  readonly node: HTMLElement;
  readonly title = { label: "", caption: "", icon: null as unknown, className: "" };
  isVisible = false;
  isDisposed = false;

  constructor({ node = document.createElement("div") }: { node?: HTMLElement } = {}) {
    this.node = node;
  }

  addClass(name: string): void {
    this.node.classList.add(name);
  }

  dispose(): void {
    this.isDisposed = true;
    this.isVisible = false;
    this.node.remove();
  }

  /** Attach it to the document. */
  attach({ visible = true } = {}): void {
    document.body.append(this.node);
    this.isVisible = visible;
    this.onAfterAttach();
  }

  detach(): void {
    this.onBeforeDetach();
    this.node.remove();
  }

  show(): void {
    this.isVisible = true;
    this.onAfterShow();
  }

  hide(): void {
    this.isVisible = false;
    this.onAfterHide();
  }

  protected onAfterAttach(): void {}
  protected onBeforeDetach(): void {}
  protected onAfterShow(): void {}
  protected onAfterHide(): void {}
  protected onActivateRequest(): void {}
}

/** What a test can do to a widget. */
export type Played = Pick<FakeWidget, "attach" | "detach" | "show" | "hide">;

export const Widget = FakeWidget as unknown as WidgetClass;
