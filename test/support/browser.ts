/** Headless Chromium of the machine. A page has a size, and records its requests and errors. */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium, type Page } from 'playwright-core'

/** The first one has no windows, which take half of the CPU time of a test. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']

/** The path of a browser on the PATH, if any. */
export function findBrowser(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path))
}

export type Browser = Awaited<ReturnType<typeof openBrowser>>
/** With every requested URL, and the errors of scripts, of the console, and of failed loads. */
export type BrowserPage = Page & { requests: string[]; errors: string[] }

export async function openBrowser(program: string) {
  const browser = await chromium.launch({ executablePath: program, chromiumSandbox: false })
  return {
    /** Opens an empty page. With `beside`, the page shares the storage of that page. */
    async open(viewport: { width: number; height: number }, beside?: BrowserPage): Promise<BrowserPage> {
      const context = beside?.context() ?? (await browser.newContext({ viewport }))
      const page = Object.assign(await context.newPage(), { requests: [] as string[], errors: [] as string[] })
      page.on('request', (request) => void page.requests.push(request.url()))
      page.on('pageerror', (error) => void page.errors.push(String(error)))
      page.on('console', (message) => {
        if (message.type() === 'error') page.errors.push(message.text())
      })
      return page
    },
    close: () => browser.close(),
  }
}
