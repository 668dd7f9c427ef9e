process SEQMTL_VARIANTS {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/seqmtl:0.1.0--pyhdfd78af_0' :
        'quay.io/biocontainers/seqmtl:0.1.0--pyhdfd78af_0' }"

    input:
    tuple val(meta), path(vcf), path(model), path(genome), val(organism)

    output:
    tuple val(meta), path("${prefix}.seqmtl.vcf.gz"), emit: vcf
    tuple val("${task.process}"), val('seqmtl'), eval("seqmtl --version | sed 's/.* //'"), topic: versions, emit: versions_seqmtl

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    seqmtl variants $model --vcf $vcf --fasta $genome --organism '$organism' \\
        --threads $task.cpus $args -o ${prefix}.seqmtl.vcf.gz
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    echo "" | gzip > ${prefix}.seqmtl.vcf.gz
    """
}
