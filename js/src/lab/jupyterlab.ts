/**
 * What we use of JupyterLab and Lumino, as far as we use it: their packages are taken from the page at
 * run time, and their own types would bring most of JupyterLab into `node_modules`.
 */

/** Found by identity: only the one from the page will do. */
export interface Token<T> {
  readonly name: string;
  /** Never there: it ties the token to its type. */
  readonly provides?: T;
}

export interface Plugin {
  id: string;
  description: string;
  autoStart: boolean;
  requires?: readonly Token<unknown>[];
  optional?: readonly Token<unknown>[];
  // biome-ignore lint/suspicious/noExplicitAny: the services come in the order of the tokens above
  activate(app: App, ...services: any[]): void;
}

export interface App {
  readonly commands: Commands;
  readonly shell: Shell;
  /** When the layout of before is back; in Notebook, when its document is there. */
  readonly restored: Promise<unknown>;
}

export interface Shell {
  add(widget: Widget, area: "right", options: { rank: number }): void;
  activateById(id: string): void;
  widgets(area: "left" | "right" | "main"): Iterable<Widget>;
  /** The document that is shown. */
  readonly currentWidget?: unknown;
  collapseLeft(): void;
  collapseRight(): void;
  /** Told when another document is shown. */
  readonly currentChanged?: { connect(slot: () => void): void };
}

export interface Commands {
  addCommand(id: string, command: Command): unknown;
  hasCommand(id: string): boolean;
  isEnabled(id: string, args: object): boolean;
  execute(id: string, args: object): Promise<unknown>;
  notifyCommandChanged(id: string): void;
}

export interface Command {
  label: string;
  caption: string | (() => string);
  execute(): void;
  isEnabled?(): boolean;
  isToggleable?: boolean;
  isToggled?(): boolean;
  /** The arguments' schema. */
  describedBy: { args: object };
}

export interface Palette {
  addItem(item: { command: string; category: string }): unknown;
}

export interface StatusBar {
  registerStatusItem(id: string, item: { item: Widget; align: "right"; rank: number }): unknown;
}

export interface Notifications {
  /** Gives the notification's id. */
  emit(
    message: string,
    type: "info",
    options: { autoClose: false; actions: { label: string; callback(): void }[] },
  ): string;
  dismiss(id: string): void;
}

export interface LayoutRestorer {
  add(widget: Widget, name: string): void;
}

/** Lumino's widget; the messages that we answer are called by Lumino alone. */
export declare class Widget {
  constructor(options?: { node?: HTMLElement });
  id: string;
  readonly node: HTMLElement;
  readonly title: { label: string; caption: string; icon: unknown; className: string };
  readonly isVisible: boolean;
  readonly isDisposed: boolean;
  addClass(name: string): void;
  dispose(): void;
  protected onAfterAttach(message: unknown): void;
  protected onBeforeDetach(message: unknown): void;
  protected onAfterShow(message: unknown): void;
  protected onAfterHide(message: unknown): void;
  protected onActivateRequest(message: unknown): void;
}

export type WidgetClass = typeof Widget;

/** An open notebook, as far as we lead it. */
export interface NotebookPanel {
  readonly id: string;
  readonly content: Notebook;
  readonly sessionContext: SessionContext;
}

export interface Notebook {
  readonly widgets: readonly Cell[];
  readonly activeCell: Cell | null;
  activeCellIndex: number;
}

export interface Cell {
  readonly model: {
    readonly sharedModel: { getSource(): string; setSource(text: string): void };
  };
}

export interface SessionContext {
  readonly session: { readonly kernel: object | null } | null;
  restartKernel(): Promise<void>;
}

/** Both that run give whether all cells ended well. */
export interface NotebookActions {
  runAllAbove(notebook: Notebook, context: SessionContext): Promise<boolean>;
  insertBelow(notebook: Notebook): void;
  run(notebook: Notebook, context: SessionContext): Promise<boolean>;
}

/** An output's data, as a renderer is given it. */
export interface MimeModel {
  readonly data: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Whether it is shown as it is; else it is sanitised. */
  readonly trusted: boolean;
}

export interface Renderer extends Widget {
  renderModel(model: MimeModel): Promise<void>;
}

/** What a renderer is made with: the page's sanitiser and more, which we only hand on. */
export interface RendererOptions {
  readonly mimeType: string;
}

export interface MimeExtension {
  id: string;
  description: string;
  /** The lowest of those that can render an output does. */
  rank: number;
  rendererFactory: {
    /** Whether it may render outputs that aren't trusted. */
    safe: boolean;
    mimeTypes: readonly string[];
    createRenderer(options: RendererOptions): Renderer;
  };
}

/** The packages of the page that we take parts of. */
export interface Packages {
  "@lumino/widgets": { Widget: WidgetClass };
  "@jupyterlab/application": { ILayoutRestorer: Token<LayoutRestorer> };
  "@jupyterlab/apputils": {
    ICommandPalette: Token<Palette>;
    Notification: Notifications;
  };
  "@jupyterlab/notebook": { NotebookActions: NotebookActions };
  "@jupyterlab/statusbar": { IStatusBar: Token<StatusBar> };
  "@jupyterlab/rendermime": {
    htmlRendererFactory: { createRenderer(options: RendererOptions): Renderer };
  };
  "@jupyterlab/ui-components": {
    LabIcon: new (options: { name: string; svgstr: string }) => object;
  };
}

// ---- JupyterLab's own packages, out of the share scope in which its page offers them.

type Factory = () => unknown;

/** One version of a package, as webpack and rspack both write it. */
interface Offer {
  get(): Factory | Promise<Factory>;
  /** Whether somebody has it already. */
  loaded?: boolean | number;
}

export type ShareScope = Record<string, Record<string, Offer> | undefined>;

/**
 * Take a package.
 *
 * Tokens and classes only work when they are the page's own: of several versions we take the one that
 * it takes, which is the one that is loaded, else the newest.
 */
export async function findModule<Name extends keyof Packages>(
  scope: ShareScope,
  name: Name,
): Promise<Packages[Name]> {
  const offers = Object.entries(scope[name] ?? {});
  const [, offer] = offers.sort(([a, one], [b, other]) => {
    return Number(!!other.loaded) - Number(!!one.loaded) || newerFirst(a, b);
  })[0] ?? [null, null];
  if (!offer) throw new Error(`agentstepper_nb: this page has no ${name} to share.`);
  const factory = await offer.get();
  return factory() as Packages[Name];
}

/** A release goes before the candidates for it. */
function newerFirst(a: string, b: string): number {
  const [one = "", onesNote] = a.split("-", 2);
  const [other = "", othersNote] = b.split("-", 2);
  const byNumber = other.localeCompare(one, "en", { numeric: true });
  return byNumber || Number(onesNote !== undefined) - Number(othersNote !== undefined);
}
