/** Browser actions on the HTML guide: its views, requesting a quote, finding text with low contrast. */
import type { BrowserPage, View } from './browser.ts'

export const VIEWS: Record<string, View> = {
  'a small dark phone': { width: 320, height: 568, isMobile: true, scheme: 'dark' },
  'a light desktop': { width: 1280, height: 900, isMobile: false, scheme: 'light' },
}

interface ShownAnswer {
  status: string
  rows: Record<string, string>
  raw: unknown
}

/** Fills in the form, submits it, and reads the shown answer. */
export async function askForQuote(page: BrowserPage, operation: string, fields: Record<string, string> = {}) {
  return (await page.run(`(async () => {
    const form = document.querySelector('form')
    form.elements.operation.value = ${JSON.stringify(operation)}
    form.elements.operation.dispatchEvent(new Event('change', { bubbles: true }))
    for (const [name, value] of Object.entries(${JSON.stringify(fields)})) form.elements[name].value = value
    const status = document.querySelector('#answer-status')
    status.textContent = ''
    const shown = new Promise((resolve) => new MutationObserver(resolve).observe(status, { childList: true }))
    form.querySelector('button').click()
    await shown
    await new Promise(requestAnimationFrame)
    const rows = [...document.querySelectorAll('#answer-rows tr')].map((row) => [...row.children].map((cell) => cell.textContent))
    return {
      status: status.textContent,
      rows: Object.fromEntries(rows),
      raw: JSON.parse(document.querySelector('#answer-raw').textContent),
    }
  })()`)) as ShownAnswer
}

/** Visible texts with a contrast below WCAG 2.2 AA (1.4.3): 4.5, or 3 for large text. `checked` counts all texts. */
export async function findLowContrastTexts(page: BrowserPage) {
  return (await page.run(`(() => {
    const parse = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number)
    const luminance = ([r, g, b]) => {
      const [x, y, z] = [r, g, b].map((value) => value / 255).map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
      return 0.2126 * x + 0.7152 * y + 0.0722 * z
    }
    const isClear = ([, , , alpha = 1]) => alpha === 0
    const background = (element) => {
      for (let each = element; each; each = each.parentElement) {
        const color = parse(getComputedStyle(each).backgroundColor)
        if (!isClear(color)) return color
      }
      return [255, 255, 255]
    }
    for (const details of document.querySelectorAll('details')) details.open = true
    const controls = [...document.querySelectorAll('input:enabled, select:enabled')]
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const elements = new Set(controls)
    while (walker.nextNode()) if (walker.currentNode.data.trim() !== '') elements.add(walker.currentNode.parentElement)
    const visible = [...elements].filter((element) => element.checkVisibility() && element.getClientRects().length > 0)
    const lowContrast = visible.flatMap((element) => {
      const style = getComputedStyle(element)
      const [one, other] = [luminance(parse(style.color)), luminance(background(element))].toSorted((a, b) => b - a)
      const ratio = (one + 0.05) / (other + 0.05)
      const size = parseFloat(style.fontSize)
      const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700)
      return ratio < (isLarge ? 3 : 4.5) ? [element.tagName + ' ' + ratio.toFixed(2) + ' ' + element.textContent.slice(0, 40)] : []
    })
    return { checked: visible.length, lowContrast }
  })()`)) as { checked: number; lowContrast: string[] }
}
