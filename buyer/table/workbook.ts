/** The parts of a workbook, by relationships and content types (ECMA-376, parts 1 and 2). Runs in browsers too. */
import type { FindPart, Part } from './archive.ts'
import { readStyles, type DateKind } from './number-formats.ts'
import { attributeOf, scanXml } from './scan-xml.ts'

interface Sheet {
  name: string
  isHidden: boolean
  part: Part
}

export interface Workbook {
  /** Those with cells, in their order. */
  sheets: Sheet[]
  strings: Part | undefined
  /** What the number of a cell means, by its style. */
  kinds: (DateKind | undefined)[]
  is1904: boolean
}

interface Relationship {
  id: string
  type: string
  path: string
}

/** @throws an error if a part is missing that a workbook needs */
export async function readWorkbook(find: FindPart): Promise<Workbook> {
  const path = await findWorkbook(find)
  const part = find(path)
  if (!part) throw new Error('The archive has no workbook')
  const folder = path.slice(0, path.lastIndexOf('/') + 1)
  const relationships = await readRelationships(find, `${folder}_rels/${path.slice(folder.length)}.rels`, folder)
  const byId = new Map(relationships.map((each) => [each.id, each]))
  const sheets: Sheet[] = []
  let is1904 = false
  await scanXml(part.read(), {
    open(name, attributes) {
      if (name === 'workbookPr') is1904 = isTrue(attributeOf(attributes, 'date1904'))
      if (name !== 'sheet') return
      const target = byId.get(attributeOf(attributes, 'id') ?? '')
      // A sheet can be a chart, or a dialogue.
      const sheet = target?.type === 'worksheet' ? find(target.path) : undefined
      const isHidden = /hidden/i.test(attributeOf(attributes, 'state') ?? '')
      if (sheet) sheets.push({ name: attributeOf(attributes, 'name') ?? '', isHidden, part: sheet })
    },
  })
  const partOf = (type: string) => find(relationships.find((each) => each.type === type)?.path ?? '')
  const styles = partOf('styles')
  return { sheets, strings: partOf('sharedStrings'), kinds: styles ? await readStyles(styles) : [], is1904 }
}

export const isTrue = (value: string | undefined): boolean => value === '1' || value === 'true'

/** By the relationship of the package, or by its content type. */
async function findWorkbook(find: FindPart): Promise<string> {
  const related = (await readRelationships(find, '_rels/.rels', '')).find(({ type }) => type === 'officeDocument')
  if (related && find(related.path)) return related.path
  let path = ''
  const types = find('[Content_Types].xml')
  if (types)
    await scanXml(types.read(), {
      open(name, attributes) {
        const type = attributeOf(attributes, 'ContentType') ?? ''
        if (name === 'Override' && /\b(?:sheet|template)(?:\.macroEnabled)?\.main\+xml$/i.test(type))
          path = (attributeOf(attributes, 'PartName') ?? '').replace(/^\/+/, '')
      },
    })
  return path
}

async function readRelationships(find: FindPart, path: string, folder: string): Promise<Relationship[]> {
  const relationships: Relationship[] = []
  const part = find(path)
  if (part)
    await scanXml(part.read(), {
      open(name, attributes) {
        if (name !== 'Relationship') return
        const type = attributeOf(attributes, 'Type') ?? ''
        const target = (attributeOf(attributes, 'Target') ?? '').replaceAll('\\', '/')
        relationships.push({
          id: attributeOf(attributes, 'Id') ?? '',
          type: type.slice(type.lastIndexOf('/') + 1),
          path: resolvePath(folder, target),
        })
      },
    })
  return relationships
}

function resolvePath(folder: string, target: string): string {
  const path: string[] = []
  for (const part of (target.startsWith('/') ? target : folder + target).split('/'))
    if (part === '..') path.pop()
    else if (part !== '.' && part !== '') path.push(part)
  return path.join('/')
}
