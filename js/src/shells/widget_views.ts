/**
 * A view that outlives the element it was drawn in. A front end draws an output anew when any of its
 * forms changes, as the saved one does when a run ends: what the person had there moves along.
 */
import type { Timers } from "../client/transport";

/** How long a view without an element waits to be taken up again. */
const REATTACH_MS = 3000;

interface Place {
  top: number;
  left: number;
}

/** The views of one widget. */
export class WidgetViews {
  readonly #timers: Timers;
  readonly #hosts = new Set<ViewHost>();

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /**
   * Show a view in an element: one that has just lost its own, else a new one.
   *
   * @param mount Draws a new view into its host, and gives back how to end it.
   * @param settle Called whenever the host has come into a document.
   * @returns How the front end takes the view away. It goes for good unless it is taken up again soon.
   */
  show(
    element: HTMLElement,
    mount: (host: HTMLElement) => () => void,
    settle: (host: HTMLElement) => void = () => {},
  ): () => void {
    const now = this.#timers.now();
    let view = [...this.#hosts].find((each) => each.isFree(now));
    if (!view) {
      view = new ViewHost(this.#timers, settle);
      this.#hosts.add(view);
      view.begin(element, mount);
    } else {
      view.moveTo(element);
    }
    return this.#leaver(view);
  }

  /** End all at once: the widget is gone. */
  close(): void {
    for (const view of this.#hosts) view.end();
    this.#hosts.clear();
  }

  #leaver(view: ViewHost): () => void {
    const turn = view.turn;
    return () => {
      if (view.turn !== turn) return; // it stands elsewhere by now
      view.leave(() => {
        this.#hosts.delete(view);
        view.end();
      });
    };
  }
}

class ViewHost {
  /** Counts the elements it stood in. */
  turn = 0;
  readonly #host = document.createElement("div");
  readonly #timers: Timers;
  readonly #settle: (host: HTMLElement) => void;
  readonly #observer: ResizeObserver;
  readonly #scrolled = new Map<Element, Place>();
  #focused: HTMLElement | null = null;
  /** When it fell out of its document; null while it is in one, as far as was heard. */
  #lostAt: number | null = null;
  #seen = false;
  #moving = false;
  #cancel: (() => void) | null = null;
  #end: () => void = () => {};

  constructor(timers: Timers, settle: (host: HTMLElement) => void) {
    this.#timers = timers;
    this.#settle = settle;
    // Told when the element comes into a document or leaves it: before the next paint.
    this.#observer = new ResizeObserver(() => this.#moved());
    this.#observer.observe(this.#host);
    this.#host.addEventListener("scroll", this.#onScroll, { capture: true, passive: true });
    this.#host.addEventListener("focusin", this.#onFocusIn);
    this.#host.addEventListener("focusout", this.#onFocusOut);
  }

  begin(element: HTMLElement, mount: (host: HTMLElement) => () => void): void {
    element.replaceChildren(this.#host);
    this.#end = mount(this.#host);
  }

  /** Whether it lost its element, and only now. */
  isFree(now: number): boolean {
    if (this.#cancel !== null) return true;
    if (this.#host.isConnected || !this.#seen) return false;
    return this.#lostAt === null || now - this.#lostAt < REATTACH_MS;
  }

  moveTo(element: HTMLElement): void {
    this.turn += 1;
    this.#cancel?.();
    this.#cancel = null;
    this.#moving = true;
    element.replaceChildren(this.#host);
    // Observed anew, since its size may be what it was: its coming into the document is to be told.
    this.#observer.unobserve(this.#host);
    this.#observer.observe(this.#host);
  }

  leave(forGood: () => void): void {
    this.#cancel ??= this.#timers.after(REATTACH_MS, forGood);
  }

  end(): void {
    this.#cancel?.();
    this.#observer.disconnect();
    this.#end();
    this.#host.remove();
  }

  #moved(): void {
    if (!this.#host.isConnected) {
      this.#lostAt ??= this.#timers.now();
      return;
    }
    const came = !this.#seen || this.#moving || this.#lostAt !== null;
    this.#seen = true;
    this.#moving = false;
    this.#lostAt = null;
    if (!came) return;
    this.#settle(this.#host);
    this.#putBack();
  }

  /** An element that was out of its document has forgotten how far it was scrolled, and the focus. */
  #putBack(): void {
    for (const [element, { top, left }] of this.#scrolled) {
      if (!this.#host.contains(element)) this.#scrolled.delete(element);
      else element.scrollTo({ top, left, behavior: "instant" });
    }
    const nobody = document.activeElement === null || document.activeElement === document.body;
    if (nobody) this.#focused?.focus({ preventScroll: true });
  }

  #onScroll = ({ target }: Event): void => {
    if (this.#moving || !(target instanceof Element) || !this.#host.isConnected) return;
    this.#scrolled.set(target, { top: target.scrollTop, left: target.scrollLeft });
  };

  #onFocusIn = ({ target }: FocusEvent): void => {
    this.#focused = target instanceof HTMLElement ? target : null;
  };

  #onFocusOut = (): void => {
    // Left by the person, unless the host is gone by the time that this is over.
    queueMicrotask(() => {
      if (this.#host.isConnected && !this.#host.matches(":focus-within")) this.#focused = null;
    });
  };
}
