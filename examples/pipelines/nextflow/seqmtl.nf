// Processes of seqmtl for Nextflow (DSL2). A meta map with an id travels with the files:
//
//     include { SEQMTL_DATASET; SEQMTL_TRAIN; SEQMTL_CALIBRATE; SEQMTL_SCAN } from './seqmtl'
//
// Extra options go in by task.ext.args, as in nf-core modules.

process SEQMTL_DATASET {
    tag "$meta.id"
    label 'process_medium'
    conda 'bioconda::seqmtl'

    input:
    tuple val(meta), path(config), path(genomes), path(annotations)

    output:
    tuple val(meta), path('dataset'), path(genomes), emit: dataset
    path 'versions.yml', emit: versions

    script:
    def args = task.ext.args ?: ''
    """
    seqmtl dataset $config $args -o dataset
    printf '"%s":\\n    seqmtl: %s\\n' "$task.process" "\$(seqmtl --version | cut -d' ' -f2)" > versions.yml
    """
}

process SEQMTL_TRAIN {
    tag "$meta.id"
    label 'process_medium'
    conda 'bioconda::seqmtl'

    input:
    tuple val(meta), path(dataset), path(genomes)

    output:
    tuple val(meta), path("${meta.id}.uncalibrated.seqmtl"), path(dataset), path(genomes), emit: model
    path 'versions.yml', emit: versions

    script:
    def args = task.ext.args ?: ''
    """
    seqmtl train $dataset $args -o ${meta.id}.uncalibrated.seqmtl
    printf '"%s":\\n    seqmtl: %s\\n' "$task.process" "\$(seqmtl --version | cut -d' ' -f2)" > versions.yml
    """
}

process SEQMTL_CALIBRATE {
    tag "$meta.id"
    label 'process_low'
    conda 'bioconda::seqmtl'

    input:
    tuple val(meta), path(model), path(dataset), path(genomes)

    output:
    tuple val(meta), path("${meta.id}.seqmtl"), emit: model
    path "${meta.id}.metrics.json", emit: metrics
    path 'versions.yml', emit: versions

    script:
    def args = task.ext.args ?: ''
    """
    seqmtl calibrate $model $dataset $args -o ${meta.id}.seqmtl
    seqmtl evaluate ${meta.id}.seqmtl $dataset --json ${meta.id}.metrics.json
    printf '"%s":\\n    seqmtl: %s\\n' "$task.process" "\$(seqmtl --version | cut -d' ' -f2)" > versions.yml
    """
}

process SEQMTL_SCAN {
    tag "$meta.id"
    label 'process_medium'
    conda 'bioconda::seqmtl'

    input:
    tuple val(meta), path(model), path(genome), val(organism)
    val format

    output:
    tuple val(meta), path("${meta.id}.*"), emit: tracks
    path 'versions.yml', emit: versions

    script:
    def args = task.ext.args ?: ''
    def suffix = [bigwig: 'bw', bedgraph: 'bedgraph.gz', bed: 'bed.gz', gff3: 'gff3.gz', spsc: 'spsc'][format]
    """
    seqmtl scan $model $genome --organism '$organism' --format $format \\
        --threads $task.cpus $args -o ${meta.id}.$suffix
    printf '"%s":\\n    seqmtl: %s\\n' "$task.process" "\$(seqmtl --version | cut -d' ' -f2)" > versions.yml
    """
}

process SEQMTL_VARIANTS {
    tag "$meta.id"
    label 'process_medium'
    conda 'bioconda::seqmtl'

    input:
    tuple val(meta), path(vcf), path(model), path(genome), val(organism)

    output:
    tuple val(meta), path("${meta.id}.seqmtl.vcf.gz"), emit: vcf
    path 'versions.yml', emit: versions

    script:
    def args = task.ext.args ?: ''
    """
    seqmtl variants $model --vcf $vcf --fasta $genome --organism '$organism' \\
        $args -o ${meta.id}.seqmtl.vcf.gz
    printf '"%s":\\n    seqmtl: %s\\n' "$task.process" "\$(seqmtl --version | cut -d' ' -f2)" > versions.yml
    """
}
