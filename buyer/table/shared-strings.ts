/**
 * What the reader of sheets does not check: that each cell with a shared string has one, and the case of the names of
 * parts. Texts that are not found are empty there.
 */

/** What a part of the archive has. */
export interface PartContent {
  /** The number of shared strings. */
  strings: number
  /** The cell with the highest index of a shared string. */
  highest: { index: number; cell: string }
}

const STRING_OR_CELL = /<(?:\w+:)?(?:si(?=[\s/>])|c\s([^<>]*)>\s*<(?:\w+:)?v\s*>([^<]*))/g
const IS_SHARED = /\bt\s*=\s*["']\s*s\s*["']/
const REFERENCE = /\br\s*=\s*["']\s*(\w+)/
/** More than the tags of a cell. What is longer without the end of an element has none. */
const TAGS_CHARACTERS_MAX = 4096

/** Reads a part in pieces. Letters of UTF-8 that it does not need are several characters. */
export function createPartReader(): { add: (bytes: Uint8Array) => void; content: PartContent } {
  const decoder = new TextDecoder('latin1')
  const content: PartContent = { strings: 0, highest: { index: -1, cell: '' } }
  let left = ''
  const scan = (text: string) => {
    for (const [, attributes, value = ''] of text.matchAll(STRING_OR_CELL)) {
      // What is no index is higher than all.
      const index = /^\s*\d+\s*$/.test(value) ? Number(value) : Infinity
      if (attributes === undefined) content.strings += 1
      else if (index > content.highest.index && IS_SHARED.test(attributes))
        content.highest = { index, cell: REFERENCE.exec(attributes)?.[1] ?? 'of a row' }
    }
  }
  const add = (bytes: Uint8Array) => {
    const text = left + decoder.decode(bytes)
    // No element that is read goes beyond the beginning of an end tag.
    const end = Math.max(0, text.lastIndexOf('</'), text.length - TAGS_CHARACTERS_MAX)
    scan(text.slice(0, end))
    left = text.slice(end)
  }
  return { add, content }
}

const RELATIONSHIP = /<(?:\w+:)?Relationship\s[^<>]*>/g

/** The parts that a workbook names, with the ends of their types. */
export function findTargets(relationships: string, folder: string): { type: string; path: string }[] {
  return (relationships.match(RELATIONSHIP) ?? []).map((element) => {
    const attribute = (name: string) =>
      new RegExp(`\\s${name}\\s*=\\s*["']\\s*([^"']*?)\\s*["']`).exec(element)?.[1] ?? ''
    const path: string[] = []
    const target = attribute('Target')
    for (const part of (target.startsWith('/') ? target : `${folder}/${target}`).split('/'))
      if (part === '..') path.pop()
      else if (part !== '.' && part !== '') path.push(part)
    return { type: attribute('Type').split('/').at(-1) ?? '', path: path.join('/') }
  })
}
