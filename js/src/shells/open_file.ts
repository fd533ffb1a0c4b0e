/** Opening a file of the agent's code in the page's own editor, where the page has one that finds it. */

/** Asked of the page: JupyterLab's extension of ours takes it, and says so by `preventDefault`. */
const OPEN_FILE = "agentstepper:open-file";

interface OpenFileDetail {
  file: string;
  line: number;
  /** Whether it is only asked if the file could be opened. */
  isProbe: boolean;
}

/**
 * Take each file that is asked to be opened on this page; for as long as the page lives.
 *
 * @param root The folder that the page's server shows, an absolute path.
 * @param open Opens a file by its path in that folder, at a line.
 */
export function onOpenFile(root: string, open: (path: string, line: number) => void): void {
  const folder = root.endsWith("/") ? root : `${root}/`;
  document.addEventListener(OPEN_FILE, (event) => {
    const { file, line, isProbe } = (event as CustomEvent<OpenFileDetail>).detail;
    if (root === "" || !file.startsWith(folder)) return;
    event.preventDefault();
    if (!isProbe) open(file.slice(folder.length), line);
  });
}

/** Whether the page can open a file. */
export function canOpenFile(file: string): boolean {
  return ask({ file, line: 1, isProbe: true });
}

/** Open a file at a line; false where the page can't. */
export function openFile(file: string, line: number): boolean {
  return ask({ file, line, isProbe: false });
}

function ask(detail: OpenFileDetail): boolean {
  return !document.dispatchEvent(new CustomEvent(OPEN_FILE, { detail, cancelable: true }));
}
