/** The documents for the current dataset: they name its licence and, on mainnet, one of its companies as an example. */
import type { Catalog } from '../../store/dataset/catalog.ts'
import { CRO_COMPANIES } from '../../store/dataset/source.ts'
import type { DocumentedDeployment } from './deployment.ts'
import { loadTemplates, renderDocuments, type WrittenDocument } from './render-documents.ts'

export type Documents = ReadonlyMap<string, WrittenDocument>

interface DocumentOptions {
  deployment: Omit<DocumentedDeployment, 'exampleCompany' | 'statuses' | 'licence'>
  shown: () => Pick<DocumentedDeployment, 'exampleCompany' | 'statuses'>
  catalog: Pick<Catalog, 'retrieval'>
}

/** The documents by path. They are rendered again only when a value that they show has changed. */
export async function openDocuments(options: DocumentOptions): Promise<() => Documents> {
  const { deployment, shown, catalog } = options
  const templates = await loadTemplates()
  let last: { key: string; documents: Documents } | undefined
  return () => {
    const { license, license_url } = catalog.retrieval()?.source ?? CRO_COMPANIES
    const current = { ...shown(), licence: { name: license, url: license_url } }
    const key = JSON.stringify(current)
    if (last?.key !== key) last = { key, documents: renderDocuments({ ...deployment, ...current }, templates) }
    return last.documents
  }
}
